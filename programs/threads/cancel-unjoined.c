// A thread has nothing to do and nobody waits for it, while another one is cancelled: it keeps nothing from being done.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static void *nothing(void *argument) {
    return argument;
}

int main(void) {
    pthread_t left, cancelled;
    assert(pthread_create(&left, NULL, nothing, NULL) == 0);
    assert(pthread_create(&cancelled, NULL, nothing, NULL) == 0);
    assert(pthread_cancel(cancelled) == 0);
    assert(pthread_join(cancelled, NULL) == 0);
    return 0;
}
