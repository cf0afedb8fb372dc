// semaphore-count.c put right: room for one.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static sem_t door;
static int inside;

static void *enter(void *arg) {
    (void)arg;
    sem_wait(&door);
    inside++;
    sem_post(&door);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sem_init(&door, 0, 1);
    pthread_create(&a, NULL, enter, NULL);
    pthread_create(&b, NULL, enter, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_destroy(&door);
    return 0;
}
