// Peterson's lock with its first two steps exchanged: the turn is given away before the wish is shown, so both can get in.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static atomic_bool wants[2];
static atomic_int turn;
static atomic_int inside;

static void *enter(void *arg) {
    int self = (int)(intptr_t)arg, other = 1 - self;
    atomic_store(&turn, other);
    atomic_store(&wants[self], true);
    while (atomic_load(&wants[other]) && atomic_load(&turn) == other)
        ;
    assert(atomic_fetch_add(&inside, 1) == 0); // <- both are inside
    atomic_fetch_sub(&inside, 1);
    atomic_store(&wants[self], false);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, enter, (void *)(intptr_t)0);
    pthread_create(&b, NULL, enter, (void *)(intptr_t)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
