// Dekker's lock: who wishes while the other does, and is not at turn, withdraws until it is.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static atomic_bool wants[2];
static atomic_int turn;
static int entries;

static void *enter(void *arg) {
    int self = (int)(intptr_t)arg, other = 1 - self;
    atomic_store(&wants[self], true);
    while (atomic_load(&wants[other])) {
        if (atomic_load(&turn) != self) {
            atomic_store(&wants[self], false);
            while (atomic_load(&turn) != self)
                ;
            atomic_store(&wants[self], true);
        }
    }
    entries++;
    atomic_store(&turn, other);
    atomic_store(&wants[self], false);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, enter, (void *)(intptr_t)0);
    pthread_create(&b, NULL, enter, (void *)(intptr_t)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(entries == 2);
    return 0;
}
