// As address-returns.c, with a block that was allocated before main: its address is not given out again, which is said.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(void *) slot;

__attribute__((constructor)) static void early(void) {
    slot = malloc(24);
}

static void *replace(void *unused) {
    free(atomic_exchange(&slot, 0));
    slot = malloc(24);
    return unused;
}

static void *take(void *unused) {
    void *seen = slot;
    if (atomic_compare_exchange_strong(&slot, &seen, 0))
        free(seen);
    return unused;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, replace, 0);
    pthread_create(&two, 0, take, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    free(slot);
}
