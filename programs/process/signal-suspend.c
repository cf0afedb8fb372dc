// A thread tells the first one by a signal to the process that it is done: the first has it blocked until it waits, so it is never lost. With
// TOO_EARLY it lets the signal through before it waits, and then may wait for ever.
#include <errno.h>
#include <pthread.h>
#include <reweave.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t done;

static void on_done(int signal) {
    reweave_check(signal == SIGUSR2, "another signal");
    done = 1;
}

static void *work(void *unused) {
    kill(getpid(), SIGUSR2);
    return unused;
}

int main(void) {
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    signal(SIGUSR2, on_done);
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
#ifdef TOO_EARLY
    sigset_t pending;
    sigpending(&pending);
    if (sigismember(&pending, SIGUSR2))
        pthread_sigmask(SIG_SETMASK, &before, 0);
    reweave_check(!done || sigismember(&pending, SIGUSR2), "a signal from nowhere");
#endif
    reweave_check(sigsuspend(&before) == -1 && errno == EINTR, "no signal"); // <- for ever
    reweave_check(done, "no handler ran");
    pthread_join(thread, 0);
}
