// A wait under `if` instead of `while`: two consumers wait for one element. The producer wakes both; the second one goes on although the
// first has taken what there was.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int elements;

static void *consumer(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    if (elements == 0)
        pthread_cond_wait(&changed, &lock);
    assert(elements > 0); // <- woken, but somebody else was faster
    elements--;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *producer(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        elements++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, NULL, consumer, NULL);
    pthread_create(&b, NULL, consumer, NULL);
    pthread_create(&c, NULL, producer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    return 0;
}
