// Random numbers of the system: what a thread draws depends on its own draws only, so draws order nothing: 1 execution.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static unsigned char drawn[2][12];

static void *draw(void *number) {
    unsigned char *own = drawn[(size_t)number];
    unsigned char before[12];
    assert(getrandom(own, sizeof drawn[0], 0) == 12);
    memcpy(before, own, sizeof before);
    assert(getentropy(own, sizeof drawn[0]) == 0);
    assert(memcmp(before, own, sizeof before) != 0);
    assert(arc4random_uniform(10) < 10);
    arc4random_buf(before, sizeof before);
    assert(memcmp(before, own, sizeof before) != 0);
    assert(arc4random() != arc4random() || arc4random() != arc4random());
    return NULL;
}

int main(void) {
    unsigned char much[300];
    pthread_t thread;
    assert(getrandom(much, sizeof much, 0x100) == -1 && errno == EINVAL);
    assert(getentropy(much, sizeof much) == -1 && errno == EIO);
    assert(getrandom(much, sizeof much, GRND_NONBLOCK) == sizeof much);
    pthread_create(&thread, NULL, draw, (void *)1);
    draw((void *)0);
    pthread_join(thread, NULL);
    // Two threads have different numbers.
    assert(memcmp(drawn[0], drawn[1], sizeof drawn[0]) != 0);
    return 0;
}
