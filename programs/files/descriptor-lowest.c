// Threads that open files in no order get the lowest numbers that are free, and a number that stands for nothing may soon stand for another thread's file.
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdlib.h>
#include <unistd.h>

static int lowest, files[2];

static int empty(void) {
    char name[] = "reweave-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    return file;
}

static void *first(void *unused) {
#ifdef AGAIN
    close(lowest);
#endif
#ifdef COPY
    files[0] = fcntl(lowest, F_DUPFD, 20);
    reweave_check(files[0] == 20 || files[0] == 21, "it is not the lowest");
#else
    files[0] = empty();
    reweave_check(files[0] >= lowest && files[0] <= lowest + 2, "it is not the lowest");
#endif
    return unused;
}

static void *second(void *unused) {
#ifdef COPY
    files[1] = fcntl(lowest, F_DUPFD, 20);
    reweave_check(files[1] == 20 || files[1] == 21, "it is not the lowest");
#else
    files[1] = empty();
    reweave_check(files[1] >= lowest && files[1] <= lowest + 2, "it is not the lowest");
#endif
    return unused;
}

static void *guess(void *unused) {
#ifdef GUESSED
    int written = (int)write(lowest, "x", 1);
    reweave_check(written == 1 || errno == EBADF, "neither open nor closed");
#endif
    return unused;
}

int main(void) {
    lowest = empty();
#ifdef GUESSED
    close(lowest);
#endif
    void *(*starts[])(void *) = {first, second, guess};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, starts[i], 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
#ifdef AGAIN
    reweave_check(write(lowest, "x", 1) == 1, "one of the two has the number");
#endif
    reweave_check(lseek(files[0], 0, SEEK_END) == 0, "the first thread's file was written to");  // <-
    reweave_check(lseek(files[1], 0, SEEK_END) == 0, "the second thread's file was written to"); // <-
}
