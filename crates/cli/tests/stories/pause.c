/* Waiting for a result by sleeping. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int result = -1;

static void pause_ms(unsigned ms) { usleep(ms * 1000); }

static void *compute(void *arg) {
    atomic_store(&result, 42);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, compute, NULL);
    pause_ms(100);
    assert(atomic_load(&result) == 42);
    pthread_join(thread, NULL);
    return 0;
}
