// A thread gives up after three waits in vain. It counts them, so each of them may time out.
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>

static sem_t items;

static void *produce(void *unused) {
    sem_post(&items);
    return unused;
}

int main(void) {
    pthread_t producer;
    struct timespec over = {.tv_sec = 1};
    int tries = 0;
    sem_init(&items, 0, 0);
    pthread_create(&producer, NULL, produce, NULL);
    while (tries < 3 && sem_timedwait(&items, &over) != 0)
        tries++;
    pthread_join(producer, NULL);
    int left;
    sem_getvalue(&items, &left);
    assert(left == (tries == 3));
    sem_destroy(&items);
    return 0;
}
