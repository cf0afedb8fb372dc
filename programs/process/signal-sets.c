// A set of signals that two threads use. SUM: they combine sets.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>

static sigset_t set;
#ifdef SUM
static sigset_t other, sum;
#endif
static volatile int seen;

static void *start(void *unused) {
    sigaddset(&set, SIGUSR1); // <-
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
#ifdef SUM
    sigorset(&sum, &other, &set); // <-
#else
    seen = sigismember(&set, SIGUSR1); // <-
#endif
    pthread_join(thread, 0);
}
