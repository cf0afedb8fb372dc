// As `early`, with a thread that makes no visible operation at all.
#include <pthread.h>

int result;

static void *start(void *unused) {
    result = 1;
    return unused;
}

int main(void) { // <-
    pthread_t thread;
    pthread_create(&thread, 0, start, 0); // <-
    pthread_detach(thread);
}
