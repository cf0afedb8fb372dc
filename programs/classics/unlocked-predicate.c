// A predicate that changes without the lock: between the waiter's look and its wait there is room for the change and its signal. The
// predicate is atomic, so this is no data race; the wake-up is lost all the same.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static atomic_bool is_ready;

static void *waiter(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!atomic_load(&is_ready))
        pthread_cond_wait(&ready, &lock); // <- the signal came between the look and the wait
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *signaller(void *arg) {
    (void)arg;
    atomic_store(&is_ready, true);
    pthread_cond_signal(&ready);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, waiter, NULL);
    pthread_create(&b, NULL, signaller, NULL);
    pthread_join(a, NULL); // <-
    pthread_join(b, NULL);
    return 0;
}
