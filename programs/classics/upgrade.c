// A read-write lock that lets a reader become a writer by waiting until it is the only reader. Two that try wait for each other.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static int readers;
static int value;

static void *read_then_write(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    readers++;
    pthread_mutex_unlock(&lock);

    pthread_mutex_lock(&lock);
    while (readers > 1)
        pthread_cond_wait(&left, &lock); // <- both stay readers
    value++;
    readers--;
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, read_then_write, NULL);
    pthread_create(&b, NULL, read_then_write, NULL);
    pthread_join(a, NULL); // <-
    pthread_join(b, NULL);
    return 0;
}
