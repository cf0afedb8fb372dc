// A lock and a condition variable that are made by a call and never destroyed.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock;
static pthread_cond_t changed;
static int value;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    value = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&changed, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    while (value == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
