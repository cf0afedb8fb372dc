// An assumption: of two orders of a load and a store, one is not looked at further. The thread that assumed stays where it is, which is no
// deadlock; the run counts as blocked.
#include <assert.h>
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int value;

static void *writer(void *arg) {
    (void)arg;
    atomic_store(&value, 1);
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    reweave_assume(atomic_load(&value) == 1);
    assert(atomic_load(&value) == 1);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
