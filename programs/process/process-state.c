// What a run changes of its process besides memory is put back: arguments, environment, directory, mask, descriptors. The error needs
// everything as it was, and one of two orders: whichever of them comes second, LAST asks for one that is not the first.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef LAST
#define LAST 1
#endif

static atomic_int last;

static void *start(void *number) {
    last = number ? 2 : 1;
    return 0;
}

int main(int count, char **arguments) {
    char directory[4096];
    int untouched = count == 3 && !strcmp(arguments[1], "one") && !strcmp(arguments[2], "two");
    untouched &= getenv("PATH") != 0;
    untouched &= getcwd(directory, sizeof directory) && strcmp(directory, "/");
    untouched &= umask(0123) != 0123;
    untouched &= fcntl(100, F_GETFD) == -1;
    untouched &= (fcntl(1, F_GETFL) & O_NONBLOCK) == 0;

    arguments[1][0] = 'x';
    arguments[2] = arguments[1];
    unsetenv("PATH");
    if (chdir("/") != 0 || fcntl(1, F_DUPFD, 100) != 100)
        return 1;
    fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK);

    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, i ? &last : 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    reweave_check(!(untouched && last == LAST), "as it was"); // <-
}
