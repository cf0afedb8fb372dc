// A combining lock: N threads put requests into a queue; the one that finds it empty serves some, then hands over.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif


#define AT_MOST 2

struct request {
    _Atomic(struct request *) next;
    atomic_int state;
    int called;
};

enum { WAITS, SERVED, SERVES };

static _Atomic(struct request *) last;
static int total;

static void serve(struct request *first) {
    int served = 0;
    struct request *it = first;
    for (;;) {
        it->called++;
        total++;
        struct request *next = atomic_load_explicit(&it->next, memory_order_acquire);
        if (!next) {
            struct request *expected = it;
            if (atomic_compare_exchange_strong(&last, &expected, NULL)) {
                atomic_store_explicit(&it->state, SERVED, memory_order_release);
                return;
            }
            while (!(next = atomic_load_explicit(&it->next, memory_order_acquire)))
                ;
        }
        atomic_store_explicit(&it->state, SERVED, memory_order_release);
        it = next;
        if (++served == AT_MOST) {
            atomic_store_explicit(&it->state, SERVES, memory_order_release);
            return;
        }
    }
}

static void request(struct request *mine) {
    struct request *before = atomic_exchange(&last, mine);
    if (!before) {
        serve(mine);
        return;
    }
    atomic_store_explicit(&before->next, mine, memory_order_release);
    int state;
    while ((state = atomic_load_explicit(&mine->state, memory_order_acquire)) == WAITS)
        ;
    if (state == SERVES)
        serve(mine);
}

static void *ask(void *arg) {
    struct request *mine = arg;
    request(mine);
    assert(mine->called == 1);
    return NULL;
}

int main(void) {
    static struct request requests[N];
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, ask, &requests[i]);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(total == N);
    return 0;
}
