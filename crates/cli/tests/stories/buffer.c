/* A bounded buffer whose consumer waits for an item with the lock in its hand. */
#include <pthread.h>
#include <semaphore.h>

struct buffer {
    pthread_mutex_t lock;
    sem_t filled;
    int item;
};

static struct buffer buffer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void sem_down(sem_t *s) { sem_wait(s); }
static void sem_up(sem_t *s) { sem_post(s); }
static void buffer_lock(struct buffer *b) { pthread_mutex_lock(&b->lock); }
static void buffer_unlock(struct buffer *b) { pthread_mutex_unlock(&b->lock); }

static void *producer(void *arg) {
    buffer_lock(&buffer);
    buffer.item = 7;
    sem_up(&buffer.filled);
    buffer_unlock(&buffer);
    return arg;
}

static void *consumer(void *arg) {
    buffer_lock(&buffer);
    sem_down(&buffer.filled);
    buffer.item = 0;
    buffer_unlock(&buffer);
    return arg;
}

int main(void) {
    sem_init(&buffer.filled, 0, 0);
    pthread_t first, second;
    pthread_create(&first, NULL, producer, NULL);
    pthread_create(&second, NULL, consumer, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    sem_destroy(&buffer.filled);
    return 0;
}
