// The first thread knows that the other one is done, if not at its end.
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>

static atomic_int result;

static void *start(void *unused) {
    result = 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    reweave_assume(result == 1);
}
