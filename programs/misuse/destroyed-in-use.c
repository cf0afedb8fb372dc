// A lock is destroyed when another thread has it, or may have it: main knows only that the worker has taken it.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t lock;
static sem_t taken;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    sem_post(&taken);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_init(&lock, NULL);
    sem_init(&taken, 0, 0);
    pthread_create(&thread, NULL, work, NULL);
    sem_wait(&taken);
    pthread_mutex_destroy(&lock); // <- the worker is still inside
    pthread_join(thread, NULL);
    sem_destroy(&taken);
    return 0;
}
