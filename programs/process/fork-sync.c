/* Each kind of synchronisation object in memory that two processes share. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct objects {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_barrier_t barrier;
    pthread_rwlock_t lock;
    sem_t semaphore;
    pthread_spinlock_t spin;
    int ready, sum;
};

static void prepare(struct objects *all) {
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&all->mutex, &mutex);
    pthread_condattr_t condition;
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&all->condition, &condition);
    pthread_barrierattr_t barrier;
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&all->barrier, &barrier, 2);
    pthread_rwlockattr_t lock;
    pthread_rwlockattr_init(&lock);
    pthread_rwlockattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&all->lock, &lock);
    sem_init(&all->semaphore, 1, 0);
    pthread_spin_init(&all->spin, PTHREAD_PROCESS_SHARED);
}

int main(void) {
    struct objects *all =
        mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    prepare(all);
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(&all->mutex);
        all->ready = 1;
        pthread_cond_signal(&all->condition);
        pthread_mutex_unlock(&all->mutex);
    } else {
        pthread_mutex_lock(&all->mutex);
        while (!all->ready) pthread_cond_wait(&all->condition, &all->mutex);
        pthread_mutex_unlock(&all->mutex);
    }
    pthread_barrier_wait(&all->barrier);
    pthread_rwlock_wrlock(&all->lock);
    all->sum++;
    pthread_rwlock_unlock(&all->lock);
    if (child == 0) {
        sem_post(&all->semaphore);
        exit(0);
    }
    sem_wait(&all->semaphore);
    pthread_spin_lock(&all->spin);
    assert(all->sum == 2);
    pthread_spin_unlock(&all->spin);
    waitpid(child, NULL, 0);
    pthread_mutex_destroy(&all->mutex);
    pthread_cond_destroy(&all->condition);
    pthread_barrier_destroy(&all->barrier);
    pthread_rwlock_destroy(&all->lock);
    sem_destroy(&all->semaphore);
    pthread_spin_destroy(&all->spin);
    return 0;
}
