// not-destroyed.c put right. A lock with a static initialiser need not be destroyed.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock;
static pthread_cond_t changed;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&other);
    value = 1;
    pthread_mutex_unlock(&other);
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
    pthread_cond_destroy(&changed);
    pthread_mutex_destroy(&lock);
    return 0;
}
