// A nested monitor: waiting lets go of the inner lock, not of the outer one, and whoever could signal needs the outer one first.
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static bool full;

static void *take(void *arg) {
    (void)arg;
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    while (!full)
        pthread_cond_wait(&filled, &inner); // <- with `outer` held
    full = false;
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
    return NULL;
}

static void *put(void *arg) {
    (void)arg;
    pthread_mutex_lock(&outer); // <- never to be had
    pthread_mutex_lock(&inner);
    full = true;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, take, NULL);
    pthread_create(&b, NULL, put, NULL);
    pthread_join(a, NULL); // <-
    pthread_join(b, NULL);
    return 0;
}
