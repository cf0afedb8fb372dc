// A thread waits for a signal (WAY says how) and is cancelled before, in or after that; with SENT the signal comes first.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#define WAIT 0
#define INFORMED 1
#define TIMED 2
#define SUSPEND 3
#define PAUSE 4

#ifndef WAY
#define WAY WAIT
#endif

static int passed, cleaned;
static volatile sig_atomic_t handled;

static void clean(void *argument) {
    (void)argument;
    cleaned = 1;
}

static void handle(int signal) {
    handled = signal;
}

static void wait_for(sigset_t *set) {
    const struct timespec soon = {0, 1};
    siginfo_t info;
    sigset_t none;
    int signal;
    switch (WAY) {
    case WAIT:
        assert(sigwait(set, &signal) == 0 && signal == SIGUSR1);
        break;
    case INFORMED:
        assert(sigwaitinfo(set, &info) == SIGUSR1 && info.si_signo == SIGUSR1);
        break;
    case TIMED:
        signal = sigtimedwait(set, &info, &soon);
        assert(signal == SIGUSR1 || (signal == -1 && errno == EAGAIN));
        break;
    case PAUSE:
        pause();
        assert(!"it has the signal blocked");
        break;
    case SUSPEND:
        assert(sigemptyset(&none) == 0);
        assert(sigsuspend(&none) == -1 && errno == EINTR && handled == SIGUSR1);
        break;
    }
}

static void *worker(void *set) {
    pthread_cleanup_push(clean, NULL);
    wait_for(set);
    passed = 1;
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void) {
    pthread_t thread;
    sigset_t set;
    void *result;
    struct sigaction action = {.sa_handler = handle};
    assert(sigaction(SIGUSR1, &action, NULL) == 0);
    assert(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR1) == 0);
    assert(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    assert(pthread_create(&thread, NULL, worker, &set) == 0);
#ifdef SENT
    assert(pthread_kill(thread, SIGUSR1) == 0);
#endif
    assert(pthread_cancel(thread) == 0);
    assert(pthread_join(thread, &result) == 0);
    assert(passed == (result == NULL));
    assert(cleaned == (result == PTHREAD_CANCELED));
#ifndef SENT
    assert(cleaned || WAY == TIMED);
#endif
    return 0;
}
