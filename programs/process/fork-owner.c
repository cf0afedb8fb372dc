/* A process ends while it holds a mutex that it shares with its parent. With FIXED the mutex is robust. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    pthread_mutex_t *mutex =
        mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
#ifdef FIXED
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
#endif
    pthread_mutex_init(mutex, &attributes);
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(mutex); /* <- */
        _exit(0);
    }
    int locked = pthread_mutex_lock(mutex); /* <- */
    if (locked == EOWNERDEAD) pthread_mutex_consistent(mutex);
    pthread_mutex_unlock(mutex);
    waitpid(child, NULL, 0);
#ifdef FIXED
    pthread_mutex_destroy(mutex);
#endif
    return 0;
}
