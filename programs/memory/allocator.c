// The allocator's whole family in two threads: sizes, alignment, growing and shrinking, zeroes, and nothing left at the end.
#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *work(void *arg) {
    (void)arg;
    char *grown = NULL;
    for (size_t size = 1; size <= 4096; size *= 4) {
        grown = realloc(grown, size);
        memset(grown, (int)size, size);
    }
    grown = realloc(grown, 10);
    char *zeroes = calloc(100, 3);
    for (int i = 0; i < 300; i++)
        assert(zeroes[i] == 0);
    void *aligned = aligned_alloc(256, 512), *posix = NULL;
    assert((uintptr_t)aligned % 256 == 0);
    assert(posix_memalign(&posix, 64, 1) == 0 && (uintptr_t)posix % 64 == 0);
    char *copy = strdup("copied");
    assert(strcmp(copy, "copied") == 0);
    void *large = malloc(1 << 20);
    memset(large, 1, 1 << 20);
    free(large);
    free(copy);
    free(posix);
    free(aligned);
    free(zeroes);
    free(grown);
    free(NULL);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
