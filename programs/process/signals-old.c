// The older names for signal actions and masks.
#define _GNU_SOURCE
#include <pthread.h>
#include <reweave.h>
#include <signal.h>

static int got;

static void on(int signal) {
    (void)signal;
    got++;
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define HOLD ((void (*)(int))2)

static void *start(void *unused) {
    reweave_check(sigset(SIGUSR1, on) == SIG_DFL, "it had a handler");
    raise(SIGUSR1);
    reweave_check(got == 1, "the handler does not run");
    reweave_check(sighold(SIGUSR1) == 0, "it cannot be held");
    gsignal(SIGUSR1);
    sigset_t pending;
    sigpending(&pending);
    reweave_check(got == 1 && sigismember(&pending, SIGUSR1), "a held signal comes");
    reweave_check(siggetmask() == 1 << (SIGUSR1 - 1), "the mask is another one");
    reweave_check(sigrelse(SIGUSR1) == 0 && got == 2, "a signal is lost");
    reweave_check(sigset(SIGUSR1, HOLD) == on, "it is not the handler");
    reweave_check(sigset(SIGUSR1, SIG_IGN) == HOLD, "it was not held");
    raise(SIGUSR1);
    reweave_check(got == 2 && siggetmask() == 0, "an ignored signal comes");
    reweave_check(sigset(SIGUSR2, on) == SIG_DFL && sigignore(SIGUSR2) == 0, "it cannot be ignored");
    raise(SIGUSR2);
    sigset(SIGUSR2, on);
    reweave_check(sigblock(1 << (SIGUSR2 - 1)) == 0, "something was blocked");
    raise(SIGUSR2);
    reweave_check(got == 2, "a blocked signal comes");
    reweave_check(sigsetmask(0) == 1 << (SIGUSR2 - 1) && got == 3, "a signal is lost");
    reweave_check(sighold(0) == -1 && sigset(SIGKILL, on) == SIG_ERR, "a wrong number is taken");
    return unused;
}

int main(void) {
    start(0);
    got = 0;
    sigset(SIGUSR1, SIG_DFL);
    sigset(SIGUSR2, SIG_DFL);
    // One choice of two, so that there is a second run.
    reweave_any(2);
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    pthread_join(thread, 0);
}
