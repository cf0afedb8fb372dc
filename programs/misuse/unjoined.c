// A thread that is neither joined nor detached: what it leaves behind is never given back.
#include <pthread.h>
#include <stddef.h>

static void *work(void *arg) { return arg; }

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_exit(NULL);
}
