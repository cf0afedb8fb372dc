// A thread pauses until a signal that another one sends, which interrupts it wherever it is; with NOBODY for ever.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <reweave.h>
#include <signal.h>
#include <unistd.h>

static void handle(int signal) {
    (void)signal;
}

static void *wait_for_it(void *unused) {
    reweave_check(pause() == -1 && errno == EINTR, "no signal"); // <- for ever
    return unused;
}

int main(void) {
    pthread_t thread;
    signal(SIGUSR1, handle);
    pthread_create(&thread, 0, wait_for_it, 0);
#ifndef NOBODY
    pthread_kill(thread, SIGUSR1);
#endif
    pthread_join(thread, 0); // <-
}
