// A spin lock whose exchange is made of a load and compare-exchanges: who finds it taken stores the value that is there already.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int taken;
static int data;

static int exchange(int value) {
    int old = atomic_load(&taken);
    while (!atomic_compare_exchange_strong(&taken, &old, value)) {
    }
    return old;
}

static void *work(void *unused) {
    while (exchange(1)) {
    }
    data++;
    atomic_store(&taken, 0);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(data == 2);
    return 0;
}
