// Random numbers of a thread do not depend on what others draw; those of the first thread are libc's.
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <stdlib.h>

static int fresh[2], seeded[2];
static atomic_int order;

static void *start(void *number) {
    int me = number != 0;
    fresh[me] = rand();
    order++;
    srand(7);
    order++;
    seeded[me] = rand();
    reweave_check(fresh[me] >= 0 && fresh[me] <= RAND_MAX, "out of range");
    if (me) {
        // Nothing in the library protects these.
        double fraction = drand48();
        reweave_check(fraction >= 0 && fraction < 1 && lrand48() >= 0, "out of range");
    }
    return 0;
}

int main(void) {
    srand(42);
    reweave_check(rand() == 71876166, "not what libc gives");
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, i ? &order : 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    reweave_check(rand() == 708592740, "not what libc gives next");
    reweave_check(seeded[0] == seeded[1], "the other thread drew in between");
    reweave_check(fresh[0] != fresh[1], "all threads draw the same");
}
