// A ticket lock with a second array to wait at for those that are not next.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

#define SLOTS 16

static atomic_uint tickets, served, slots[SLOTS];

static void take(void) {
    unsigned mine = atomic_fetch_add_explicit(&tickets, 1, memory_order_relaxed);
    unsigned now = atomic_load_explicit(&served, memory_order_acquire);
    if (mine == now)
        return;
    if (mine - now > 1) {
        atomic_uint *slot = &slots[mine % SLOTS];
        unsigned seen = atomic_load_explicit(slot, memory_order_acquire);
        now = atomic_load_explicit(&served, memory_order_relaxed);
        while (mine - now > 1) {
            unsigned before = seen;
            while ((seen = atomic_load_explicit(slot, memory_order_acquire)) == before)
                ;
            now = atomic_load_explicit(&served, memory_order_relaxed);
        }
    }
    while (atomic_load_explicit(&served, memory_order_acquire) != mine)
        ;
}

static void give(void) {
    unsigned next = atomic_load_explicit(&served, memory_order_relaxed) + 1;
    atomic_store_explicit(&served, next, memory_order_release);
    atomic_fetch_add_explicit(&slots[(next + 1) % SLOTS], 1, memory_order_release);
}

static int entries;

static void *enter(void *arg) {
    (void)arg;
    take();
    entries++;
    give();
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, enter, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(entries == N);
    return 0;
}
