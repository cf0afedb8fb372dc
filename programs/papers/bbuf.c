// bbuf: a bounded buffer of SIZE places with PRODUCERS and CONSUMERS, one lock and two condition variables. Every producer puts ITEMS
// numbers; the consumers take them all. From Distributed Inspect, Table 1 (there 4 producers and 4 consumers).
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef PRODUCERS
#define PRODUCERS 1
#endif
#ifndef CONSUMERS
#define CONSUMERS 1
#endif
#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef SIZE
#define SIZE 1
#endif

enum { ALL = PRODUCERS * ITEMS };
_Static_assert(ALL % CONSUMERS == 0, "every consumer takes as many");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int buffer[SIZE];
static int filled, head, tail;
static int sum;

static void *produce(void *unused) {
    (void)unused;
    for (int i = 1; i <= ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (filled == SIZE)
            pthread_cond_wait(&not_full, &lock);
        buffer[head] = i;
        head = (head + 1) % SIZE;
        filled++;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consume(void *unused) {
    (void)unused;
    for (int i = 0; i < ALL / CONSUMERS; i++) {
        pthread_mutex_lock(&lock);
        while (filled == 0)
            pthread_cond_wait(&not_empty, &lock);
        sum += buffer[tail];
        tail = (tail + 1) % SIZE;
        filled--;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[PRODUCERS + CONSUMERS];
    for (int i = 0; i < PRODUCERS; i++)
        pthread_create(&threads[i], NULL, produce, NULL);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&threads[PRODUCERS + i], NULL, consume, NULL);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_join(threads[i], NULL);
    assert(filled == 0);
    assert(sum == PRODUCERS * ITEMS * (ITEMS + 1) / 2);
    return 0;
}
