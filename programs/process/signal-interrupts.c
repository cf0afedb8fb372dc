// A signal that would interrupt another thread anywhere is not under control.
#include <pthread.h>
#include <signal.h>

static void handle(int signal) { (void)signal; }

static void *work(void *unused) { return unused; }

int main(void) {
    signal(SIGUSR1, handle);
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, 0);
}
