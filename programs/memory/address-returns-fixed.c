// As address-returns, with a count beside the address: a block at the same address has another count.
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#define COUNT ((uintptr_t)1 << 48)

static atomic_uintptr_t slot;
static atomic_int replaced;

static void *address(uintptr_t word) {
    return (void *)(word % COUNT);
}

static void *replace(void *unused) {
    uintptr_t old = atomic_exchange(&slot, 0);
    if (old) {
        free(address(old));
        replaced = 1;
        slot = (old / COUNT + 1) * COUNT + (uintptr_t)malloc(24);
    }
    return unused;
}

static void *take(void *unused) {
    uintptr_t seen = slot;
    int before = replaced;
    uintptr_t expected = seen;
    if (seen && atomic_compare_exchange_strong(&slot, &expected, 0)) {
        reweave_check(replaced == before, "took another block than it saw");
        free(address(seen));
    }
    return unused;
}

int main(void) {
    slot = (uintptr_t)malloc(24);
    pthread_t one, two;
    pthread_create(&one, 0, replace, 0);
    pthread_create(&two, 0, take, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    free(address(slot));
}
