// Objects that lie where others lay before, on stacks: an initialiser makes a new one of whatever was there.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t *shared;

static void *try(void *unused) {
    int result = pthread_mutex_trylock(shared);
    assert(result == 0 || result == EBUSY);
    if (result == 0)
        pthread_mutex_unlock(shared);
    return unused;
}

// Leaves its mutex behind, locked or not.
static __attribute__((noinline)) void with_mutex(int left_locked) {
    pthread_t thread;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    shared = &lock;
    assert(pthread_mutex_lock(&lock) == 0);
    pthread_create(&thread, NULL, try, NULL);
    if (!left_locked)
        assert(pthread_mutex_unlock(&lock) == 0);
    pthread_join(thread, NULL);
}

static __attribute__((noinline)) void with_condvar(void) {
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    assert(pthread_cond_signal(&changed) == 0);
    assert(pthread_cond_destroy(&changed) == 0);
}

int main(void) {
    with_mutex(1);
    with_condvar();
    with_mutex(0);
    with_condvar();
    return 0;
}
