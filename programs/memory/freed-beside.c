/* One thread frees a block that the other reads. The report shows the free in the first one's column, the read in the other's. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static int *block;
static atomic_int freed;

static void *frees(void *unused) {
    free(block); /* <- */
    atomic_store(&freed, 1);
    return unused;
}

int main(void) {
    pthread_t other;
    block = malloc(sizeof *block);
    *block = 1;
    pthread_create(&other, NULL, frees, NULL);
    int value = atomic_load(&freed) ? *block : 0; /* <- */
    pthread_join(other, NULL);
    return value > 1;
}
