// indexer: N threads each put 4 messages into one hash table with open addressing; a slot is claimed under a lock of its own, which
// stands for the compare-and-swap of the original. Up to 11 threads never meet at a slot. From Inspect, Table 1; its threads are
// those beside main.
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 12
#endif

enum { SLOTS = 128, MESSAGES = 4 };

static pthread_mutex_t lock[SLOTS] = {[0 ... SLOTS - 1] = PTHREAD_MUTEX_INITIALIZER};
static int table[SLOTS]; // 0: free

static bool claim(int slot, int message) {
    pthread_mutex_lock(&lock[slot]);
    bool was_free = table[slot] == 0;
    if (was_free)
        table[slot] = message;
    pthread_mutex_unlock(&lock[slot]);
    return was_free;
}

static void *insert_all(void *arg) {
    int self = (int)(intptr_t)arg;
    for (int m = 1; m <= MESSAGES; m++) {
        int message = m * 11 + self;
        int slot = message * 7 % SLOTS;
        while (!claim(slot, message))
            slot = (slot + 1) % SLOTS;
    }
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, insert_all, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
