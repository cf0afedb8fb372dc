// Lock order inversion: one thread takes the two locks as first, second, the other as second, first.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static int moved;

static void *there(void *arg) {
    (void)arg;
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second); // <- held by `back`
    moved++;
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return NULL;
}

static void *back(void *arg) {
    (void)arg;
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first); // <- held by `there`
    moved--;
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, there, NULL);
    pthread_create(&b, NULL, back, NULL);
    pthread_join(a, NULL); // <-
    pthread_join(b, NULL);
    return 0;
}
