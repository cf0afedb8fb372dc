// As address-returns.c, with a mapping: its address does not come back here, so the search is not complete.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static _Atomic(void *) slot;

static void *map(void) {
    return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *replace(void *unused) {
    void *old = atomic_exchange(&slot, 0);
    if (old) {
        munmap(old, 4096);
        slot = map();
    }
    return unused;
}

static void *take(void *unused) {
    void *seen = slot;
    if (seen && atomic_compare_exchange_strong(&slot, &seen, 0))
        munmap(seen, 4096);
    return unused;
}

int main(void) {
    slot = map();
    pthread_t one, two;
    pthread_create(&one, 0, replace, 0);
    pthread_create(&two, 0, take, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
}
