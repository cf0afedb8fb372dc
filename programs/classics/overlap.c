// Overlapping accesses of different sizes: eight bytes are written, one in their middle is read.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

static union {
    uint64_t whole;
    unsigned char bytes[8];
} shared;

static void *write_whole(void *arg) {
    (void)arg;
    shared.whole = 1; // <-
    return NULL;
}

static void *read_byte(void *arg) {
    return shared.bytes[5] == 0 ? NULL : arg; // <- is one of the eight
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, write_whole, NULL);
    pthread_create(&b, NULL, read_byte, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
