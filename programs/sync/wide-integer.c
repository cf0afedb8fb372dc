// Integers of 16 bytes: counting with them, and waiting for one.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

typedef unsigned __int128 wide;

static _Atomic wide count, flag;
static int data;

static void *adds(void *unused) {
    atomic_fetch_add(&count, ((wide)1 << 100) + 1);
    data = 1;
    atomic_store(&flag, (wide)3 << 64);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, adds, 0);
    atomic_fetch_sub(&count, 1);
    while (atomic_load(&flag) == 0)
        ;
    assert(data == 1);
    pthread_join(thread, 0);
    assert(atomic_load(&count) == (wide)1 << 100);
    assert(atomic_fetch_or(&count, 6) == (wide)1 << 100 && atomic_exchange(&count, 0) == ((wide)1 << 100 | 6));
}
