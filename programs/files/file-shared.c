// Two threads read from one file: who gets which byte depends on the order.
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int file;
static char first[2];

static void *start(void *place) {
    reweave_check(read(file, place, 1) == 1, "nothing to read");
    return 0;
}

int main(void) {
    char name[] = "/tmp/reweave-XXXXXX";
    file = mkstemp(name);
    unlink(name);
    reweave_check(write(file, "ab", 2) == 2, "nothing written");
    lseek(file, 0, SEEK_SET);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, &first[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    reweave_check(memcmp(first, "ab", 2) == 0, "they came the other way round"); // <-
}
