/* Two processes lock two mutexes, in opposite orders. With FIXED in the same order. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    pthread_mutex_t *mutexes =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    for (int i = 0; i < 2; i++) pthread_mutex_init(mutexes + i, &attributes);
    pid_t child = fork();
#ifdef FIXED
    int first = 0;
#else
    int first = child == 0;
#endif
    pthread_mutex_lock(mutexes + first); /* <- */
    pthread_mutex_lock(mutexes + 1 - first); /* <- */
    pthread_mutex_unlock(mutexes);
    pthread_mutex_unlock(mutexes + 1);
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    for (int i = 0; i < 2; i++) pthread_mutex_destroy(mutexes + i);
    return 0;
}
