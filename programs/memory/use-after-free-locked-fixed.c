// use-after-free-locked.c put right: who closes says so.
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *buffer;

static void *fill(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    if (buffer != NULL)
        buffer[0] = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *close_it(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    free(buffer);
    buffer = NULL;
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
