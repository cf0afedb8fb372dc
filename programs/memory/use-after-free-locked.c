// Everything under one lock, and yet a use after the free: who closes leaves the pointer behind, and who comes later does not ask.
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *buffer;

static void *fill(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    buffer[0] = 1; // <- was freed
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *close_it(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    free(buffer); // <-
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    buffer = malloc(4 * sizeof *buffer);
    pthread_t a, b;
    pthread_create(&a, NULL, fill, NULL);
    pthread_create(&b, NULL, close_it, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
