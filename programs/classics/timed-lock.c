// Timed attempts on a lock and a semaphore: who is too late goes on without, and whoever has the lock is alone.
#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t places;
static int inside;

static void *enter(void *arg) {
    (void)arg;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    int result = pthread_mutex_timedlock(&lock, &until);
    assert(result == 0 || result == ETIMEDOUT);
    if (result == 0) {
        assert(inside++ == 0);
        inside--;
        pthread_mutex_unlock(&lock);
    }
    if (sem_timedwait(&places, &until) == 0)
        sem_post(&places);
    else
        assert(errno == ETIMEDOUT);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sem_init(&places, 0, 1);
    pthread_create(&a, NULL, enter, NULL);
    pthread_create(&b, NULL, enter, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_destroy(&places);
    return 0;
}
