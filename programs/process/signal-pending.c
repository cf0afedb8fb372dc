// A signal to the process is pending for all of its threads, until the first one takes it.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <reweave.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static sigset_t set;
static int early, late;

static int is_pending(void) {
    sigset_t pending;
    assert(sigpending(&pending) == 0);
    return sigismember(&pending, SIGUSR1);
}

static void *other(void *arg) {
    early = is_pending();
    return arg;
}

int main(void) {
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_t thread;
    if (LATER)
        pthread_create(&thread, NULL, other, NULL);
    kill(getpid(), SIGUSR1);
    assert(is_pending());
    if (!LATER) {
        pthread_create(&thread, NULL, other, NULL);
        pthread_join(thread, NULL);
        assert(early);
    }
    int signal;
    assert(sigwait(&set, &signal) == 0 && signal == SIGUSR1);
    late = is_pending();
    assert(!late);
    if (LATER) {
        pthread_join(thread, NULL);
        reweave_check(!early, "not seen"); // <-
    }
}
