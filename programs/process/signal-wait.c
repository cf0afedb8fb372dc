// Signals to another thread, which has them blocked and waits for them: none is lost, whoever comes first.
#include <errno.h>
#include <pthread.h>
#include <reweave.h>
#include <signal.h>
#include <time.h>

static sigset_t set;
static int data;

static void *waiter(void *unused) {
    int signal = 0;
    reweave_check(sigwait(&set, &signal) == 0 && signal == SIGUSR1, "another signal");
    // What was written before a signal is there after it.
    reweave_check(data == 1, "the signal came before what it was sent after");
    struct timespec soon = {0, 1000};
    siginfo_t info;
    int taken = sigtimedwait(&set, &info, &soon);
    reweave_check(taken == -1 ? errno == EAGAIN : taken == SIGTERM && info.si_signo == SIGTERM, "another signal");
    return unused;
}

int main(void) {
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_t thread;
    pthread_create(&thread, 0, waiter, 0);
    data = 1;
    reweave_check(pthread_kill(thread, 0) == 0, "there is such a thread");
    pthread_kill(thread, SIGUSR1);
    pthread_kill(thread, SIGTERM);
    pthread_join(thread, 0);
}
