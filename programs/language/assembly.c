// Atomic instructions of the programmer's own are operations like any other, and what they publish is.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int count, locked, ready, data;

static inline void add(int *to) {
    __asm__ volatile("lock; incl %0" : "+m"(*to) : : "cc");
}

static inline int swap(int *with, int mine) {
    __asm__ volatile("xchgl %0, %1" : "+r"(mine), "+m"(*with) : : "memory");
    return mine;
}

static inline int fetch_add(int *to, int mine) {
    __asm__ volatile("lock\n\txaddl %0, %1" : "+r"(mine), "+m"(*to) : : "memory", "cc");
    return mine;
}

static inline int replace(int *in, int expected, int by) {
    unsigned char done;
    __asm__ volatile("lock cmpxchgl %3, %1\n\tsete %0"
                     : "=q"(done), "+m"(*in), "+a"(expected)
                     : "r"(by)
                     : "memory", "cc");
    return done;
}

static inline void fence(void) {
#if defined WAY
    __asm__ volatile("lock; addl $0, (%%rsp)" : : : "memory", "cc");
#else
    __asm__ volatile("mfence" : : : "memory");
#endif
}

static void *worker(void *unused) {
    add(&count);
    while (swap(&locked, 1))
        __asm__ volatile("pause");
    data++;
    fence();
    swap(&locked, 0);
    return unused;
}

static void *consumer(void *unused) {
    int seen;
    __asm__ volatile("movl %1, %0" : "=r"(seen) : "m"(ready) : "memory");
    if (seen)
        assert(data == 5);
    return unused;
}

static void *producer(void *unused) {
    data = 5;
    __asm__ volatile("movl $1, %0" : "=m"(ready) : : "memory");
    return unused;
}

static void both(void *(*first)(void *), void *(*second)(void *)) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

int main(void) {
    both(worker, worker);
    assert(count == 2 && data == 2 && !locked);
    both(producer, consumer);
    assert(fetch_add(&count, 40) == 2 && count == 42);
    assert(!replace(&count, 41, 0) && replace(&count, 42, 7) && count == 7);
    return 0;
}
