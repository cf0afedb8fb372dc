// Neighbours: threads that write to different bytes of one word, to fields of one structure, to halves of one array by memset. No two
// touch the same byte, so there is no race.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef N
#define N 4
#endif

static unsigned char bytes[8];
static struct {
    char tag;
    short length;
    int value;
} __attribute__((packed)) fields[N];
static int halves[N][3];

static void *write_own(void *arg) {
    int self = (int)(intptr_t)arg;
    bytes[self] = (unsigned char)(self + 1);
    fields[self].length = (short)self;
    fields[self].value = self;
    memset(halves[self], 1, sizeof halves[self]);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, write_own, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N; i++) {
        assert(bytes[i] == i + 1 && fields[i].length == i && fields[i].value == i);
        assert(halves[i][0] == 0x01010101 && halves[i][2] == 0x01010101);
    }
    return 0;
}
