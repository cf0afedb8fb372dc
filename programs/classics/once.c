// Initialisation once, by hand: look at a sign, and if it is not there, do it and put up the sign. Two threads may both find it missing.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_bool done;
static atomic_int times;

static void *use(void *arg) {
    (void)arg;
    if (!atomic_load(&done)) {
        atomic_fetch_add(&times, 1);
        atomic_store(&done, true);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, use, NULL);
    pthread_create(&b, NULL, use, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(atomic_load(&times) == 1); // <- it was done twice
    return 0;
}
