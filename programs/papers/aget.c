// aget: THREADS threads fetch a segment of a file each, in PACKETS packets, and add what came to a common count under one lock.
// From Distributed Inspect, Table 1, without the network: a lock section for each packet is all that its threads share.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#ifndef THREADS
#define THREADS 3
#endif
#ifndef PACKETS
#define PACKETS 2
#endif

enum { BYTES = 4, SEGMENT = PACKETS * BYTES };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int written;
static char remote[THREADS * SEGMENT];
static char local[THREADS * SEGMENT];

static void *fetch(void *segment) {
    size_t from = (size_t)segment * SEGMENT;
    for (int packet = 0; packet < PACKETS; packet++, from += BYTES) {
        // The segments of different threads do not overlap.
        memcpy(local + from, remote + from, BYTES);
        pthread_mutex_lock(&lock);
        written += BYTES;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < sizeof remote; i++)
        remote[i] = (char)('a' + i % 26);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, fetch, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert(written == THREADS * SEGMENT);
    assert(memcmp(local, remote, sizeof local) == 0);
    return 0;
}
