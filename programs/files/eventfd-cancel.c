// A thread that waits for an eventfd can be cancelled. What was written then is read by another thread, or not at all.
#include <pthread.h>
#include <reweave.h>
#include <sys/eventfd.h>

static int counter;

static void *start(void *unused) {
    (void)unused;
    eventfd_t value;
    reweave_check(eventfd_read(counter, &value) == 0 && value == 1, "something else is read"); // <-
    return 0;
}

int main(void) {
    counter = eventfd(0, 0);
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
#ifndef WAITS
    pthread_cancel(thread);
#endif
#ifndef UNWRITTEN
    eventfd_write(counter, 1);
#endif
    void *result = &counter;
    pthread_join(thread, &result); // <-
#ifdef NEVER
    reweave_check(result != PTHREAD_CANCELED, "it was cancelled"); // <-
#elif defined(ALWAYS)
    reweave_check(result == PTHREAD_CANCELED, "it has read"); // <-
#else
    reweave_check(result == PTHREAD_CANCELED || result == 0, "it has ended otherwise");
#endif
#ifdef WAITS
    pthread_cancel(pthread_self());
#endif
}
