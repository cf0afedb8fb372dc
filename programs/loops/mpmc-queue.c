// A bounded queue with a word of both counts: one element, N writers of one more each, one reader of all.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 1
#endif

#define SIZE 4

static atomic_uint both, taken, put;
static int slots[SIZE];

static int *prepare(void) {
    unsigned now = atomic_load_explicit(&both, memory_order_acquire);
    unsigned read, written;
    do {
        read = now >> 16;
        written = now & 0xffff;
        if (written == read + SIZE)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&both, &now, read << 16 | (written + 1),
                                                    memory_order_acq_rel, memory_order_acquire));
    while (atomic_load_explicit(&taken, memory_order_acquire) != read)
        ;
    return &slots[written % SIZE];
}

static void publish(void) { atomic_fetch_add_explicit(&put, 1, memory_order_release); }

static int *fetch(void) {
    unsigned now = atomic_load_explicit(&both, memory_order_acquire);
    unsigned read, written;
    do {
        read = now >> 16;
        written = now & 0xffff;
        if (written == read)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&both, &now, now + (1 << 16),
                                                    memory_order_acq_rel, memory_order_acquire));
    while (atomic_load_explicit(&put, memory_order_acquire) != written)
        ;
    return &slots[read % SIZE];
}

static void consume(void) { atomic_fetch_add_explicit(&taken, 1, memory_order_release); }

static void *writer(void *arg) {
    (void)arg;
    int *slot = prepare();
    if (slot) {
        *slot = 1;
        publish();
    }
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    int *slot;
    while ((slot = fetch())) {
        assert(*slot == 1);
        consume();
    }
    return NULL;
}

int main(void) {
    pthread_t threads[N + 1];
    writer(NULL);
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, writer, NULL);
    pthread_create(&threads[N], NULL, reader, NULL);
    for (int i = 0; i <= N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
