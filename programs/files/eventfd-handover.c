// Two threads announce by an eventfd what they have written. The first thread waits for both: none is lost, whether a read finds
// one or both.
#include <pthread.h>
#include <reweave.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int announced;
static int values[2];

static void *start(void *place) {
    *(int *)place = 1;
    uint64_t one = 1;
    reweave_check(write(announced, &one, sizeof one) == sizeof one, "nothing is written");
    return 0;
}

int main(void) {
    announced = eventfd(0, EFD_CLOEXEC);
    reweave_check(announced >= 0, "there is none");
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, &values[i]);
    uint64_t known = 0;
    while (known < 2) {
        uint64_t more;
        reweave_check(read(announced, &more, sizeof more) == sizeof more, "nothing is read");
        known += more;
    }
    reweave_check(known == 2 && values[0] && values[1], "something is lost");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    reweave_check(close(announced) == 0, "it was closed");
}
