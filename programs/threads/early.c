// The first thread returns and nothing tells that the other one is done: its store may be lost.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int result;

static void *start(void *unused) {
    result = 1;
    return unused;
}

int main(void) { // <-
    pthread_t thread;
    pthread_create(&thread, 0, start, 0); // <-
    pthread_detach(thread);
    return result == 2;
}
