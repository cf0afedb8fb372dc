// Dekker's lock without the turn: each shows its wish and waits for the other to withdraw. When both wish, neither ever does.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static atomic_bool wants[2];
static int entries;

static void *enter(void *arg) {
    int self = (int)(intptr_t)arg, other = 1 - self;
    atomic_store(&wants[self], true);
    while (atomic_load(&wants[other])) // <- each waits for the other
        ;
    entries++;
    atomic_store(&wants[self], false);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, enter, (void *)(intptr_t)0);
    pthread_create(&b, NULL, enter, (void *)(intptr_t)1);
    pthread_join(a, NULL); // <-
    pthread_join(b, NULL);
    assert(entries == 2);
    return 0;
}
