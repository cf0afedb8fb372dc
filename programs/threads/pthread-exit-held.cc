// A catch block that does not throw on holds up a thread that leaves.
#include <pthread.h>

static void *start(void *) {
    try {
        pthread_exit(nullptr);
    } catch (...) {
    } // <-
    return nullptr;
}

int main() {
    pthread_t thread;
    pthread_create(&thread, nullptr, start, nullptr);
    pthread_join(thread, nullptr);
}
