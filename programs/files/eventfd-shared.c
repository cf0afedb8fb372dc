// Descriptors that `dup` makes share the counter, and one can be closed while the other waits.
#include <pthread.h>
#include <reweave.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int counter, other;

static void *start(void *unused) {
    eventfd_t value;
    reweave_check(eventfd_read(other, &value) == 0 && value == 5, "something else is read");
    return unused;
}

int main(void) {
    counter = eventfd(0, 0);
    other = dup(counter);
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    reweave_check(eventfd_write(counter, 5) == 0, "nothing is written");
    reweave_check(close(counter) == 0, "it was closed");
    pthread_join(thread, 0);
}
