// destroyed-in-use.c put right: first wait for the worker's end.
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
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&lock);
    sem_destroy(&taken);
    return 0;
}
