// Joined after it was detached: refused, and wrong. What is refused without being wrong comes first.
#include <errno.h>
#include <pthread.h>
#include <reweave.h>

static void *start(void *unused) {
    reweave_check(pthread_join(pthread_self(), 0) == EDEADLK, "a thread joins itself");
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &attributes, start, 0);
    reweave_check(pthread_detach(thread) == EINVAL, "detached twice");
    reweave_check(pthread_join(thread, 0) == EINVAL, "a detached thread is joined"); // <-
}
