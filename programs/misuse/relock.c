// A function that takes a lock calls one that takes it again, on a path that only one order takes.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value, changes;

static void count_change(void) {
    pthread_mutex_lock(&lock); // <- is held by this thread
    changes++;
    pthread_mutex_unlock(&lock);
}

static void *change(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    if (value == 1)
        count_change();
    value = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, change, NULL);
    pthread_create(&b, NULL, change, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
