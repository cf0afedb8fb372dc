// A ticket lock whose tickets are drawn by a load and a store: two threads may hold the same ticket, and then both get in.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int tickets, serving;
static atomic_int inside;

static void *enter(void *arg) {
    (void)arg;
    int mine = atomic_load(&tickets);
    atomic_store(&tickets, mine + 1);
    while (atomic_load(&serving) < mine)
        ;
    assert(atomic_fetch_add(&inside, 1) == 0); // <- two with one ticket
    atomic_fetch_sub(&inside, 1);
    atomic_fetch_add(&serving, 1);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, enter, NULL);
    pthread_create(&b, NULL, enter, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
