// sleep-order.c put right: wait for the writer, then look.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int value;

static void *writer(void *arg) {
    (void)arg;
    atomic_store(&value, 1);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    pthread_join(thread, NULL);
    assert(atomic_load(&value) == 1);
    return 0;
}
