// readers: N threads each read a variable once, one thread writes it once. Each reader sees the old value or the new one, and none
// depends on another. From the RF-SMC paper, Table 1.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 5
#endif

static atomic_int shared;

static void *reader(void *unused) {
    (void)unused;
    (void)atomic_load(&shared);
    return NULL;
}

static void *writer(void *unused) {
    (void)unused;
    atomic_store(&shared, 1);
    return NULL;
}

int main(void) {
    pthread_t threads[N + 1];
    pthread_create(&threads[0], NULL, writer, NULL);
    for (int i = 1; i <= N; i++)
        pthread_create(&threads[i], NULL, reader, NULL);
    for (int i = 0; i <= N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
