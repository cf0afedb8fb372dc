// Detached threads: nobody joins them, and main ends by pthread_exit, so that they come to their end.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int finished;

static void *work(void *arg) {
    (void)arg;
    atomic_fetch_add(&finished, 1);
    return NULL;
}

static void *detach_self(void *arg) {
    pthread_detach(pthread_self());
    return work(arg);
}

int main(void) {
    pthread_t a, b, c;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_create(&a, &detached, work, NULL);
    pthread_attr_destroy(&detached);
    pthread_create(&b, NULL, work, NULL);
    pthread_detach(b);
    pthread_create(&c, NULL, detach_self, NULL);
    pthread_exit(NULL);
}
