// Instructions that change one bit: with a constant they are atomic operations, and publish what was written before. With a register they are not
// understood: the search is incomplete, but what they may have ordered is no data race.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static unsigned long bits[2];
static int data;

static void set(unsigned long at) {
#ifdef UNKNOWN
    __asm__ volatile("lock btsq %1, %0" : "+m"(bits[0]) : "r"(at) : "cc", "memory");
#else
    unsigned char was;
    (void)at;
    __asm__ volatile("lock btsq $3, %0; setc %1" : "+m"(bits[0]), "=q"(was) : : "cc", "memory");
    assert(!was);
    __asm__ volatile("lock; btcl $31, %0; setc %1" : "+m"(bits[1]), "=q"(was) : : "cc", "memory");
    assert(!was);
    __asm__ volatile("lock btrl $31, %0; setc %1" : "+m"(bits[1]), "=q"(was) : : "cc", "memory");
    assert(was);
#endif
}

static void *writer(void *unused) {
    data = 5;
    set(3);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    if (__atomic_load_n(&bits[0], __ATOMIC_ACQUIRE))
        assert(data == 5 && bits[0] == 8);
    pthread_join(thread, NULL);
    assert(bits[1] == 0);
    return 0;
}
