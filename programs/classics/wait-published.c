// What lets the loop go besides the atomic is plain memory that the atomic publishes. The same value of the atomic keeps the thread in its loop in
// one execution and lets it go in another.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int input, stage;
static int data;

static void *publish(void *arg) {
    (void)arg;
    data = atomic_load(&input);
    atomic_store(&stage, 1);
    atomic_store(&stage, 2);
    return NULL;
}

static void *wait(void *arg) {
    (void)arg;
    for (;;) {
        int now = atomic_load(&stage);
        if (now == 2 || (now == 1 && data == 1))
            return NULL;
    }
}

static void *set(void *arg) {
    (void)arg;
    atomic_store(&input, 1);
    return NULL;
}

int main(void) {
    void *(*bodies[])(void *) = {publish, wait, set};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, bodies[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert(data == 0 || data == 1);
    return 0;
}
