// What the kinds of mutexes answer to their holder and to others.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

static void *other(void *unused) {
    // All are locked.
    assert(pthread_mutex_trylock(&recursive) == EBUSY);
    assert(pthread_mutex_trylock(&checking) == EBUSY);
    assert(pthread_mutex_trylock(&adaptive) == EBUSY);
    assert(pthread_mutex_unlock(&recursive) == EPERM);
    assert(pthread_mutex_unlock(&checking) == EPERM);
    return unused;
}

static void made_so(int kind) {
    pthread_mutexattr_t attributes;
    assert(pthread_mutexattr_init(&attributes) == 0);
    assert(pthread_mutexattr_settype(&attributes, kind) == 0);
    pthread_mutex_t *lock = malloc(sizeof *lock);
    assert(pthread_mutex_init(lock, &attributes) == 0);
    assert(pthread_mutexattr_destroy(&attributes) == 0);
    assert(pthread_mutex_lock(lock) == 0);
    switch (kind) {
    case PTHREAD_MUTEX_RECURSIVE:
        assert(pthread_mutex_lock(lock) == 0);
        assert(pthread_mutex_trylock(lock) == 0);
        assert(pthread_mutex_unlock(lock) == 0);
        assert(pthread_mutex_unlock(lock) == 0);
        break;
    case PTHREAD_MUTEX_ERRORCHECK:
        assert(pthread_mutex_lock(lock) == EDEADLK);
        assert(pthread_mutex_trylock(lock) == EBUSY);
        break;
    default:
        assert(pthread_mutex_trylock(lock) == EBUSY);
    }
    assert(pthread_mutex_unlock(lock) == 0);
    if (kind == PTHREAD_MUTEX_RECURSIVE || kind == PTHREAD_MUTEX_ERRORCHECK)
        assert(pthread_mutex_unlock(lock) == EPERM);
    assert(pthread_mutex_destroy(lock) == 0);
    free(lock);
}

int main(void) {
    assert(pthread_mutex_lock(&recursive) == 0);
    assert(pthread_mutex_lock(&recursive) == 0);
    assert(pthread_mutex_lock(&checking) == 0);
    assert(pthread_mutex_lock(&adaptive) == 0);
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    assert(pthread_mutex_unlock(&recursive) == 0);
    assert(pthread_mutex_unlock(&recursive) == 0);
    assert(pthread_mutex_unlock(&recursive) == EPERM);
    assert(pthread_mutex_unlock(&checking) == 0);
    assert(pthread_mutex_unlock(&checking) == EPERM);
    assert(pthread_mutex_unlock(&adaptive) == 0);
    made_so(PTHREAD_MUTEX_DEFAULT);
    made_so(PTHREAD_MUTEX_NORMAL);
    made_so(PTHREAD_MUTEX_RECURSIVE);
    made_so(PTHREAD_MUTEX_ERRORCHECK);
    made_so(PTHREAD_MUTEX_ADAPTIVE_NP);
    return 0;
}
