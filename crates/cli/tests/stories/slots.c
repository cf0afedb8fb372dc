/* A bounded buffer of semaphores: the producer waits for room while it keeps the semaphore that serves as a lock. */
#include <pthread.h>
#include <semaphore.h>

struct buffer {
    sem_t guard, filled, room;
    int count;
};

static struct buffer buffer;

static void down(sem_t *semaphore) { sem_wait(semaphore); }
static void up(sem_t *semaphore) { sem_post(semaphore); }

static void *producer(void *unused) {
    for (int i = 0; i < 2; i++) {
        down(&buffer.guard);
        down(&buffer.room);
        buffer.count++;
        up(&buffer.filled);
        up(&buffer.guard);
    }
    return unused;
}

static void *consumer(void *unused) {
    for (int i = 0; i < 2; i++) {
        down(&buffer.filled);
        down(&buffer.guard);
        buffer.count--;
        up(&buffer.room);
        up(&buffer.guard);
    }
    return unused;
}

int main(void) {
    pthread_t first, second;
    sem_init(&buffer.guard, 0, 1);
    sem_init(&buffer.filled, 0, 0);
    sem_init(&buffer.room, 0, 1);
    pthread_create(&first, NULL, producer, NULL);
    pthread_create(&second, NULL, consumer, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
