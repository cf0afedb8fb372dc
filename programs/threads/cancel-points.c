// A thread comes to one cancellation point (POINT says which) and is cancelled before, in or after it. What it holds is given back by its handler.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#define TEST 0
#define SLEEP 1
#define SEMAPHORE 2
#define TIMED 3
#define JOIN 4
#define DISABLED 5
#define CONDITION 6

#ifndef POINT
#define POINT TEST
#endif

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_t other;
static int passed, cleaned;

static void clean(void *argument) {
    (void)argument;
    cleaned = 1;
    if (POINT == CONDITION) {
        assert(pthread_mutex_unlock(&mutex) == 0);
    }
    if (POINT == JOIN) {
        assert(pthread_join(other, NULL) == 0);
    }
}

static void *nothing(void *argument) {
    return argument;
}

static void point(void) {
    const struct timespec past = {0, 0};
    int old;
    switch (POINT) {
    case TEST:
        pthread_testcancel();
        break;
    case SLEEP:
        assert(usleep(1) == 0);
        break;
    case SEMAPHORE:
        assert(sem_wait(&semaphore) == 0);
        break;
    case TIMED:
        assert(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT);
        break;
    case JOIN:
        assert(pthread_join(other, NULL) == 0);
        break;
    case DISABLED:
        assert(pthread_setcancelstate(2, NULL) == EINVAL);
        assert(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) == 0);
        assert(old == PTHREAD_CANCEL_ENABLE);
        assert(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old) == 0);
        assert(old == PTHREAD_CANCEL_DEFERRED);
        pthread_testcancel();
        assert(usleep(1) == 0);
        break;
    case CONDITION:
        assert(pthread_mutex_lock(&mutex) == 0);
        assert(pthread_cond_wait(&condition, &mutex) == 0);
        break;
    }
}

static void *worker(void *argument) {
    pthread_cleanup_push(clean, NULL);
    point();
    passed = 1;
    pthread_cleanup_pop(0);
    return argument;
}

int main(void) {
    pthread_t thread;
    void *result;
    assert(sem_init(&semaphore, 0, 0) == 0);
    if (POINT == JOIN) {
        assert(pthread_create(&other, NULL, nothing, NULL) == 0);
    }
    assert(pthread_create(&thread, NULL, worker, NULL) == 0);
    assert(pthread_cancel(thread) == 0);
    assert(pthread_join(thread, &result) == 0);
    assert(passed == (result == NULL));
    assert(cleaned == (result == PTHREAD_CANCELED));
    assert(passed + cleaned == 1);
    if (POINT == SEMAPHORE || POINT == CONDITION) {
        assert(cleaned);
    }
    if (POINT == DISABLED) {
        assert(passed);
    }
    assert(sem_destroy(&semaphore) == 0);
    return 0;
}
