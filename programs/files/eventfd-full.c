// A write that would be too much waits until something is read.
#include <pthread.h>
#include <reweave.h>
#include <sys/eventfd.h>

static const eventfd_t most = 0xfffffffffffffffe;
static int counter;

static void *start(void *unused) {
    reweave_check(eventfd_write(counter, 2) == 0, "nothing is written"); // <-
    return unused;
}

int main(void) {
    counter = eventfd(0, 0);
    reweave_check(eventfd_write(counter, most - 1) == 0, "there is no room");
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
#ifndef STUCK
    eventfd_t first, second;
    reweave_check(eventfd_read(counter, &first) == 0 && first == most - 1, "something else is read first");
    reweave_check(eventfd_read(counter, &second) == 0 && second == 2, "something else is read then");
#endif
    pthread_join(thread, 0); // <-
}
