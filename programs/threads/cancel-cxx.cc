// A thread that waits is cancelled: destructors run, and a handler for all exceptions that throws on, and so do the handlers of C.
#include <cassert>
#include <cstddef>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int left;

struct Lock {
    Lock() {
        assert(pthread_mutex_lock(&mutex) == 0);
    }
    ~Lock() {
        left = left * 10 + 3;
        assert(pthread_mutex_unlock(&mutex) == 0);
    }
};

static void handler(void *) {
    left = left * 10 + 2;
}

static void *waiter(void *argument) {
    Lock lock;
    pthread_cleanup_push(handler, nullptr);
    try {
        for (;;) {
            pthread_cond_wait(&condition, &mutex);
        }
    } catch (...) {
        left = left * 10 + 1;
        throw;
    }
    pthread_cleanup_pop(0);
    return argument;
}

int main() {
    pthread_t thread;
    void *result;
    assert(pthread_create(&thread, nullptr, waiter, nullptr) == 0);
    assert(pthread_cancel(thread) == 0);
    assert(pthread_join(thread, &result) == 0);
    assert(result == PTHREAD_CANCELED);
    assert(left == 123);
    return 0;
}
