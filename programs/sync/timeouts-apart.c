// Four waits in a row, each on another object: all of them may time out.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static sem_t first, second;

static void *give(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_rwlock_wrlock(&table);
    sem_post(&first);
    sem_post(&second);
    pthread_rwlock_unlock(&table);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t giver;
    struct timespec over = {.tv_sec = 1};
    int late = 0;
    sem_init(&first, 0, 0);
    sem_init(&second, 0, 0);
    pthread_create(&giver, NULL, give, NULL);
    late += sem_timedwait(&first, &over);
    late += sem_timedwait(&second, &over);
    if (pthread_mutex_timedlock(&lock, &over) == 0)
        pthread_mutex_unlock(&lock);
    else
        late--;
    if (pthread_rwlock_timedrdlock(&table, &over) == 0)
        pthread_rwlock_unlock(&table);
    else
        late--;
    assert(late > -4); // <- all four in vain
    pthread_join(giver, NULL);
    sem_destroy(&first);
    sem_destroy(&second);
    return 0;
}
