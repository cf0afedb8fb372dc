// A half of an atomic of 16 bytes is written by itself.
#include <pthread.h>
#include <stdatomic.h>

static union {
    _Atomic unsigned __int128 whole;
    _Atomic unsigned long half[2];
    unsigned long plain[2];
} value;

static void *writes(void *unused) {
#ifdef ATOMIC
    atomic_store(&value.half[1], 1);
#else
    value.plain[1] = 1; // <-
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writes, 0);
    unsigned __int128 seen = atomic_load(&value.whole); // <-
    pthread_join(thread, 0);
    return seen == 1;
}
