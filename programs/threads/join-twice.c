// A thread is joined by two others.
#include <pthread.h>

static pthread_t thread;

static void *nothing(void *unused) { return unused; }

static void *join(void *unused) {
    pthread_join(thread, 0); // <-
    return unused;
}

int main(void) {
    pthread_t other;
    pthread_create(&thread, 0, nothing, 0);
    pthread_create(&other, 0, join, 0);
    pthread_join(thread, 0); // <-
    pthread_join(other, 0);
}
