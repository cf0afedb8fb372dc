/* A fork while another thread runs: what the child's memory holds depends on how far that thread is. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int flag;

static void *work(void *unused) {
    flag = 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pid_t child = fork();
    if (child == 0) _exit(flag);
    waitpid(child, NULL, 0);
    pthread_join(thread, NULL);
    return 0;
}
