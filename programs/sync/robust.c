// Robust mutexes: a thread ends and leaves one locked. Who locks it next is told, and says when all is well; one that is unlocked before that is lost.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#ifndef REPAIRED
#define REPAIRED 1
#endif

static pthread_mutex_t mutex;
static int half, whole;

static void *leaver(void *argument) {
    int error = pthread_mutex_lock(&mutex);
    if (error == ENOTRECOVERABLE) {
        return argument;
    }
    if (error == EOWNERDEAD) {
        assert(half == whole + 1);
        assert(pthread_mutex_consistent(&mutex) == 0);
        whole = half;
    }
    half++;
    return argument;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_t thread;
    int kind;
    assert(pthread_mutexattr_init(&attributes) == 0);
    assert(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
    assert(pthread_mutexattr_getrobust(&attributes, &kind) == 0);
    assert(kind == PTHREAD_MUTEX_ROBUST);
    assert(pthread_mutex_init(&mutex, &attributes) == 0);
    assert(pthread_mutex_consistent(&mutex) == EINVAL);
    assert(pthread_mutex_unlock(&mutex) == EPERM);
    assert(pthread_create(&thread, NULL, leaver, NULL) == 0);
    int error = pthread_mutex_lock(&mutex);
    assert(error == 0 || error == EOWNERDEAD);
    if (error == EOWNERDEAD) {
        assert(half == 1);
        if (REPAIRED) {
            assert(pthread_mutex_consistent(&mutex) == 0);
            assert(pthread_mutex_consistent(&mutex) == EINVAL);
        }
    }
    assert(pthread_mutex_unlock(&mutex) == 0);
    assert(pthread_join(thread, NULL) == 0);
    if (error == 0) {
        assert(pthread_mutex_trylock(&mutex) == EOWNERDEAD);
        assert(pthread_mutex_unlock(&mutex) == 0);
        assert(pthread_mutex_lock(&mutex) == ENOTRECOVERABLE);
    } else if (REPAIRED) {
        assert(pthread_mutex_lock(&mutex) == 0);
        assert(pthread_mutex_unlock(&mutex) == 0);
    } else {
        assert(pthread_mutex_lock(&mutex) == ENOTRECOVERABLE);
        assert(pthread_mutex_trylock(&mutex) == ENOTRECOVERABLE);
    }
    assert(pthread_mutex_destroy(&mutex) == 0);
    assert(pthread_mutexattr_destroy(&attributes) == 0);
    return 0;
}
