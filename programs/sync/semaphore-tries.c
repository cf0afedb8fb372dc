// One thread posts, another tries to take: once, or (TIMED) for some time, or (TIMED and PATIENT) until it has got it, or it (LOOK) only looks.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>

#ifndef TIMED
#define TIMED 0
#endif
#ifndef PATIENT
#define PATIENT 0
#endif
#ifndef LOOK
#define LOOK 0
#endif

static sem_t semaphore;

static void *give(void *unused) {
    sem_post(&semaphore);
    return unused;
}

static int attempt(void) {
    struct timespec until;
    int value = -1;
    if (LOOK) {
        assert(sem_getvalue(&semaphore, &value) == 0);
        assert(value == 0 || value == 1);
        return 0;
    }
    if (!TIMED)
        return sem_trywait(&semaphore) == 0 ? 0 : errno;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    return sem_timedwait(&semaphore, &until) == 0 ? 0 : errno;
}

static void *take(void *unused) {
    int result = attempt();
    while (PATIENT && result != 0)
        result = attempt();
    assert(result == 0 || result == (TIMED ? ETIMEDOUT : EAGAIN));
    return unused;
}

int main(void) {
    pthread_t one, two;
    sem_init(&semaphore, 0, 0);
    pthread_create(&one, NULL, give, NULL);
    pthread_create(&two, NULL, take, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    struct timespec never = {.tv_nsec = -1};
    assert(sem_timedwait(&semaphore, &never) == -1 && errno == EINVAL);
    never.tv_nsec = 0;
    assert(sem_clockwait(&semaphore, 99, &never) == -1 && errno == EINVAL);
    sem_trywait(&semaphore);
    assert(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &never) == -1 && errno == ETIMEDOUT);
    sem_destroy(&semaphore);
    return 0;
}
