// Double-checked initialisation with a relaxed atomic pointer: the pointer is read without a race, what it points to is not.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct config {
    int size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct config made;
static _Atomic(struct config *) config;

static struct config *get(void) {
    struct config *seen = atomic_load_explicit(&config, memory_order_relaxed);
    if (seen == NULL) {
        pthread_mutex_lock(&lock);
        seen = atomic_load_explicit(&config, memory_order_relaxed);
        if (seen == NULL) {
            made.size = 3; // <- nothing orders this
            seen = &made;
            atomic_store_explicit(&config, seen, memory_order_relaxed);
        }
        pthread_mutex_unlock(&lock);
    }
    return seen;
}

static void *use(void *arg) {
    (void)arg;
    return get()->size == 3 ? NULL : arg; // <- before this
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, use, NULL);
    pthread_create(&b, NULL, use, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
