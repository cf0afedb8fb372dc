// A loop that waits for a plain flag and does something else meanwhile: it yields, or looks at an object that never changes.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static int flag;
static atomic_int other, begun;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void pass_time(void) {
    switch (WAY) {
    case 1:
        usleep(1);
        break;
    case 2:
        atomic_load(&other);
        break;
    case 3:
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        break;
    default:
        sched_yield();
    }
}

static void *waiter(void *arg) {
    while (!*(volatile int *)&flag) // <-
        pass_time();
    return arg;
}

static void *setter(void *arg) {
    atomic_store(&begun, 1);
    flag = 1; // <-
    return arg;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, waiter, NULL);
    pthread_create(&threads[1], NULL, setter, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
