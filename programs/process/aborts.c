// Ways to end a program at once, each in a thread of its own; the others go on.
#include <assert.h>
#include <pthread.h>
#include <reweave.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void handler(int signal) {
    reweave_check(signal != SIGABRT, "abort tells its handler first"); // <-
}

static void *broken(void *zero) {
    assert(zero != 0); // <-
    return zero;
}

static void *aborted(void *unused) {
    signal(SIGABRT, handler);
    abort();
    return unused;
}

static void *raised(void *unused) {
    raise(SIGABRT); // <-
    return unused;
}

static void *crashed(void *zero) {
    return (void *)strlen(zero); // <-
}

int main(void) {
    void *(*starts[])(void *) = {broken, raised, aborted, crashed};
    pthread_t threads[4];
    unsigned which = reweave_any(4);
    pthread_create(&threads[which], 0, starts[which], 0);
    pthread_join(threads[which], 0);
    reweave_check(false, "an aborted thread is joined");
}
