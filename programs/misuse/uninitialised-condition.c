// A condition variable in allocated memory that nobody has initialised is destroyed at the end.
#include <pthread.h>
#include <stdlib.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    int elements;
};

static void *put(void *arg) {
    struct queue *queue = arg;
    pthread_mutex_lock(&queue->lock);
    queue->elements++;
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

int main(void) {
    struct queue *queue = malloc(sizeof *queue);
    pthread_mutex_init(&queue->lock, NULL);
    queue->elements = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, put, queue);
    pthread_join(thread, NULL);
    pthread_cond_destroy(&queue->filled); // <- was never made
    pthread_mutex_destroy(&queue->lock);
    free(queue);
    return 0;
}
