/* Where the process is, its environment and what it does about a signal are everybody's: each order is explored. */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *changes(void *unused) {
    (void)unused;
    assert(chdir("/") == 0);
    setenv("REWEAVE_CORPUS", "set", 1);
    signal(SIGUSR1, SIG_IGN);
    return NULL;
}

int main(void) {
    pthread_t thread;
    char here[4096];
    signal(SIGUSR1, SIG_DFL);
    pthread_create(&thread, NULL, changes, NULL);
#if defined(DIRECTORY)
    assert(getcwd(here, sizeof here) && strcmp(here, "/") != 0);
#elif defined(ENVIRONMENT)
    assert(!getenv("REWEAVE_CORPUS"));
#elif defined(SIGNAL)
    raise(SIGUSR1);
#endif
    (void)here;
    pthread_join(thread, NULL);
    return 0;
}
