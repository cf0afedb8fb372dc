// circular-buffer: one thread puts N numbers into a ring of 10 under a lock, another tries N times to take one. The ring is empty when
// both ends meet, and nobody sees to it that it never fills: with N = 10 the producer can come all the way round. The lock is
// made by a call and never destroyed. From the RF-SMC paper, Table 1.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 5
#endif

enum { SIZE = 10 };

static pthread_mutex_t lock;
static int ring[SIZE];
static int first, next;
static int put, taken;

static void *producer(void *unused) {
    (void)unused;
    for (int i = 0; i < N; i++) {
        pthread_mutex_lock(&lock);
        ring[next] = i;
        next = (next + 1) % SIZE;
        put++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consumer(void *unused) {
    (void)unused;
    for (int i = 0; i < N; i++) {
        pthread_mutex_lock(&lock);
        if (first != next) {
            assert(ring[first] == taken);
            first = (first + 1) % SIZE;
            taken++;
        } else {
            assert(put == taken); // <- all ten are in, and the ring looks empty
        }
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_mutex_init(&lock, NULL);
    pthread_create(&a, NULL, producer, NULL);
    pthread_create(&b, NULL, consumer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
