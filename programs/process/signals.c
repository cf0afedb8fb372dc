// Signals that a thread sends to itself: handlers run at once, or when they are no longer blocked. Nothing is left of one run in the
// next.
#include <pthread.h>
#include <reweave.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int first, second;

static void on_first(int signal) {
    reweave_check(signal == SIGUSR1, "another signal");
    first++;
}

static void on_second(int signal, siginfo_t *info, void *context) {
    reweave_check(signal == SIGUSR2 && info->si_signo == SIGUSR2 && context != 0, "another signal");
    second++;
    if (second == 1)
        raise(SIGUSR2);
    reweave_check(second == 1 || second == 2, "a signal comes while it is handled");
}

static void *start(void *unused) {
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    reweave_check(!sigismember(&old, SIGUSR1), "blocked by nobody");
    pthread_kill(pthread_self(), SIGUSR1);
    sigpending(&set);
    reweave_check(first == 1 && sigismember(&set, SIGUSR1), "a blocked signal comes");
    pthread_sigmask(SIG_SETMASK, &old, 0);
    reweave_check(first == 2, "a signal that is no longer blocked is lost");
    return unused;
}

int main(void) {
    reweave_check(signal(SIGUSR1, on_first) == SIG_DFL, "a handler is left of an earlier run");
    raise(SIGUSR1);
    reweave_check(first == 1, "a handler does not run");
    struct sigaction action = {.sa_sigaction = on_second, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR2, &action, 0);
    kill(getpid(), SIGUSR2);
    reweave_check(second == 2, "a signal is lost");
    signal(SIGUSR2, SIG_IGN);
    raise(SIGUSR2);
    raise(SIGCHLD);
    reweave_any(2);
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    pthread_join(thread, 0);
}
