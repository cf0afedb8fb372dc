// example1: one thread adds 0, 5, 10, ... below N to a shared number, another subtracts the same, and every addition or subtraction
// happens with its assertion in one atomic step. Many orders, few states. From the SDPOR paper, Fig. 1 (there N = 64).
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 20
#endif

static pthread_mutex_t atomically = PTHREAD_MUTEX_INITIALIZER;
static int balance;

static void change(int by) {
    pthread_mutex_lock(&atomically);
    balance += by;
    assert(balance % 5 != 4);
    pthread_mutex_unlock(&atomically);
}

static void *add(void *unused) {
    (void)unused;
    for (int i = 0; i < N; i += 5)
        change(i);
    return NULL;
}

static void *subtract(void *unused) {
    (void)unused;
    for (int i = 0; i < N; i += 5)
        change(-i);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, subtract, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(balance == 0);
    return 0;
}
