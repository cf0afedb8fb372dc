// A counter of the programmer's own making: the instruction is atomic, and nobody sees it. The search goes on without it and says so.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int seen;
static int count;

static inline void add(int *to) {
    __asm__ volatile("lock; incl %0" : "+m"(*to) : : "cc");
}

static void swap(int *with, int mine) {
    __asm__ volatile("xchgl %0, %1" : "+r"(mine), "+m"(*with));
}

static void *worker(void *unused) {
    add(&count);
    atomic_fetch_add(&seen, 1);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    swap(&count, 0);
    return 0;
}
