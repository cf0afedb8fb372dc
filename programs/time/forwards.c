// Time does not run backwards between threads, whatever lets one go on after the other.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static sem_t posted;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t gate;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static time_t begun, written;

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static void slow(void) { sleep(40); }

static void *other(void *unused) {
    sleep(10);
    sem_post(&posted);
    pthread_rwlock_wrlock(&table);
    sleep(20);
    written = 1;
    pthread_rwlock_unlock(&table);
    sleep(30);
    pthread_barrier_wait(&gate);
    pthread_once(&once, slow);
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&posted, 0, 0);
    pthread_barrier_init(&gate, NULL, 2);
    begun = now();
    pthread_create(&thread, NULL, other, NULL);
    sem_wait(&posted);
    assert(now() - begun >= 10);
    pthread_rwlock_rdlock(&table);
    if (written)
        assert(now() - begun >= 30);
    pthread_rwlock_unlock(&table);
    pthread_barrier_wait(&gate);
    assert(now() - begun >= 60);
    pthread_once(&once, slow);
    assert(now() - begun >= 100);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&gate);
    sem_destroy(&posted);
    return 0;
}
