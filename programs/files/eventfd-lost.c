// Two events are announced and two are read, one at a time. A read takes all that was announced, so the second one may wait for ever.
#include <pthread.h>
#include <reweave.h>
#include <stdint.h>
#include <sys/eventfd.h>

#ifndef FLAGS
#define FLAGS 0
#endif

static int announced;

static void *start(void *unused) {
    reweave_check(eventfd_write(announced, 1) == 0, "nothing is written");
    return unused;
}

int main(void) {
    announced = eventfd(0, FLAGS);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, 0);
    for (int i = 0; i < 2; i++) {
        eventfd_t events;
        reweave_check(eventfd_read(announced, &events) == 0, "nothing is read"); // <-
        reweave_check(FLAGS != EFD_SEMAPHORE || events == 1, "several are read at once");
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
}
