// A descriptor is closed twice. The second time its number may stand for what another thread has opened since.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdio.h>
#include <unistd.h>

static void *twice(void *unused) {
    int file = open("/dev/zero", O_RDONLY);
    close(file);
    close(file);
    return unused;
}

static void *once(void *unused) {
    char byte = 1;
#ifdef STREAM
    FILE *stream = fopen("/dev/zero", "r");
    reweave_check(fread(&byte, 1, 1, stream) == 1, "the stream goes nowhere"); // <-
    reweave_check(fclose(stream) == 0, "it is closed already");                // <-
#else
    int file = open("/dev/zero", O_RDONLY);
    reweave_check(read(file, &byte, 1) == 1, "the file is closed"); // <-
    reweave_check(close(file) == 0, "it is closed already");        // <-
#endif
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, twice, 0);
    pthread_create(&threads[1], 0, once, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
}
