// What every thread has of its own: thread-local variables and errno keep their values across switches, and begin anew.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static _Thread_local int mine = 7;
static atomic_int meeting;

static void *work(void *arg) {
    int self = (int)(intptr_t)arg;
    assert(mine == 7);
    mine = self;
    errno = self;
    atomic_fetch_add(&meeting, 1);
    assert(mine == self);
    assert(errno == self);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    errno = 1;
    pthread_create(&a, NULL, work, (void *)(intptr_t)2);
    pthread_create(&b, NULL, work, (void *)(intptr_t)3);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(mine == 7 && errno == 1);
    return 0;
}
