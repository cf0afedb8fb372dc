// fib-bench: two threads each add the other's number to their own, N times, and neither may get beyond the Fibonacci number that the
// strictest alternation gives. The main thread looks while they run. From the RF-SMC paper, Table 1.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static atomic_int left = 1, right = 1;

static void *grow_left(void *unused) {
    (void)unused;
    for (int i = 0; i < N; i++) {
        int mine = atomic_load(&left);
        int other = atomic_load(&right);
        atomic_store(&left, mine + other);
    }
    return NULL;
}

static void *grow_right(void *unused) {
    (void)unused;
    for (int i = 0; i < N; i++) {
        int mine = atomic_load(&right);
        int other = atomic_load(&left);
        atomic_store(&right, mine + other);
    }
    return NULL;
}

static int fibonacci(int n) {
    int before = 0, last = 1;
    for (int i = 0; i < n; i++) {
        int next = before + last;
        before = last;
        last = next;
    }
    return before;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, grow_left, NULL);
    pthread_create(&b, NULL, grow_right, NULL);
    int most = fibonacci(2 * N + 2);
    int seen_left = atomic_load(&left);
    int seen_right = atomic_load(&right);
    assert(seen_left <= most && seen_right <= most);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
