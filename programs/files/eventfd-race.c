// What is written before an eventfd is written to can be read after a read from it, if that has waited.
#include <pthread.h>
#include <reweave.h>
#include <sys/eventfd.h>

#ifndef FLAGS
#define FLAGS EFD_NONBLOCK
#endif

static int ready;
static int data;
static eventfd_t value;

static void *start(void *unused) {
    data = 1; // <-
#ifdef BUFFER
    value = 7; // <-
#endif
    eventfd_write(ready, 1);
    return unused;
}

int main(void) {
    ready = eventfd(0, FLAGS);
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
#ifdef BUFFER
    eventfd_write(ready, 1);
    eventfd_read(ready, &value); // <-
#else
    eventfd_read(ready, &value);
    reweave_check(data == 1 || (FLAGS && data == 0), "it was not written"); // <-
#endif
    pthread_join(thread, 0);
}
