/* The environment and what is done about a signal are everybody's: each order is explored. Going elsewhere is refused. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *changes(void *unused) {
    (void)unused;
#if !defined(ENVIRONMENT) && !defined(SIGNAL)
    assert(chdir("/") == 0);
#endif
    setenv("REWEAVE_CORPUS", "set", 1);
    signal(SIGUSR1, SIG_IGN);
    return NULL;
}

int main(void) {
    pthread_t thread;
    signal(SIGUSR1, SIG_DFL);
    pthread_create(&thread, NULL, changes, NULL);
#if defined(ENVIRONMENT)
    assert(!getenv("REWEAVE_CORPUS")); /* <- */
#elif defined(SIGNAL)
    raise(SIGUSR1); /* <- */
#endif
    pthread_join(thread, NULL);
    return 0;
}
