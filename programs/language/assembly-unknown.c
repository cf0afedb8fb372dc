// An instruction that is not understood: the search goes on without it and says so.
#include <pthread.h>
#include <stddef.h>

static unsigned long bits;

static void *worker(void *unused) {
    unsigned long at = 3;
    __asm__ volatile("lock btsq %1, %0" : "+m"(bits) : "r"(at) : "cc", "memory");
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
