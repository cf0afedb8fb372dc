/* A child has what its parent held when it forked, each process its own. WRONG: it waits for its copy of a semaphore, which
   its parent does not release. */
#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t one;

int main(void) {
    sem_init(&one, 0, 1);
    pthread_mutex_lock(&mutex);
    pthread_rwlock_rdlock(&lock);
    sem_wait(&one);
    pid_t child = fork();
    if (child == 0) {
        assert(pthread_mutex_trylock(&mutex) == EBUSY);
        assert(pthread_rwlock_trywrlock(&lock) == EBUSY);
        assert(sem_trywait(&one) == -1 && errno == EAGAIN);
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_unlock(&lock);
        assert(pthread_mutex_lock(&mutex) == 0);
        assert(pthread_rwlock_trywrlock(&lock) == 0);
#ifdef WRONG
        sem_wait(&one); /* <- only its parent's copy is given back */
#endif
        _exit(3);
    }
    sem_post(&one);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_unlock(&lock);
    int status;
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3); /* <- */
    sem_destroy(&one);
    return 0;
}
