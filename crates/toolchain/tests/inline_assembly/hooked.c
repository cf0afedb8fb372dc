// Compiled with hooks: what compilers make of atomics is no assembly of ours, whatever the order and the size.
#include <stdatomic.h>

int plain(int *to);

_Atomic char small;
_Atomic int usual;
_Atomic long large;

static void by_hand(int *to) {
    __asm__ volatile("lock; incl %0" : "+m"(*to) : : "cc"); // found
}

static int exchanged(int *with, int mine) {
    __asm__ volatile("xchgl %0, %1" : "+r"(mine), "+m"(*with)); // found
    return mine;
}

static int in_registers(int a, int b) {
    __asm__ volatile("xchgl %0, %1" : "+r"(a), "+r"(b));
    return a - b;
}

int all(int *number) {
    atomic_fetch_add(&small, 1);
    atomic_store(&usual, 5);
    atomic_thread_fence(memory_order_seq_cst);
    __sync_synchronize();
    int old = 5;
    atomic_compare_exchange_weak_explicit(&usual, &old, 6, memory_order_relaxed, memory_order_relaxed);
    by_hand(number);
    return (int)atomic_exchange(&large, 1) + exchanged(number, 1) + in_registers(old, 2) + plain(number);
}
