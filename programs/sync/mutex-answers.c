// What a mutex answers to the thread that holds it and to another one, for every type, robust or not, inheriting priorities or not.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex;
static int tries, unlocks;

static void *other(void *argument) {
    assert(pthread_mutex_trylock(&mutex) == EBUSY);
    if (unlocks)
        assert(pthread_mutex_unlock(&mutex) == EPERM);
    return argument;
}

static void use(int type, int robust, int inherits) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutexattr_setprotocol(&attributes, inherits ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
    assert(pthread_mutex_init(&mutex, &attributes) == 0);
    int recursive = type == PTHREAD_MUTEX_RECURSIVE, checks = type == PTHREAD_MUTEX_ERRORCHECK;
    int known = robust || inherits;
    struct timespec past = {0};
    assert(pthread_mutex_lock(&mutex) == 0);
    tries = pthread_mutex_trylock(&mutex);
    assert(tries == (recursive ? 0 : checks && known ? EDEADLK : EBUSY));
    if (recursive)
        assert(pthread_mutex_timedlock(&mutex, &past) == 0);
    if (checks)
        assert(pthread_mutex_timedlock(&mutex, &past) == EDEADLK);
    if (checks)
        assert(pthread_mutex_lock(&mutex) == EDEADLK);
    unlocks = recursive || checks || known;
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < (recursive ? 3 : 1); i++)
        assert(pthread_mutex_unlock(&mutex) == 0);
    assert(pthread_mutex_destroy(&mutex) == 0);
    pthread_mutexattr_destroy(&attributes);
}

int main(void) {
    int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
    for (int type = 0; type < 3; type++)
        for (int kind = 0; kind < 4; kind++)
            use(types[type], kind & 1 ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED, kind & 2);
}
