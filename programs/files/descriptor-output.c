// Standard output that is a file of the program: what threads write there is in some order.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *start(void *text) {
#if defined(STREAM) || defined(REOPENED)
    printf("%s", (char *)text);
#elif defined(ERRORS)
    reweave_check(write(2, text, 1) == 1, "nothing is written");
#else
    reweave_check(write(1, text, 1) == 1, "nothing is written");
#endif
    return 0;
}

int main(void) {
    char name[] = "reweave-XXXXXX", first = 0;
    int file = mkstemp(name);
#if defined(REOPENED)
    reweave_check(freopen(name, "w", stdout) == stdout, "it is not opened");
#elif defined(ERRORS)
    close(2);
    reweave_check(open(name, O_RDWR) == 2, "2 was free");
#elif !defined(NEITHER)
    dup2(file, 1);
#endif
    pthread_t threads[2];
    pthread_create(&threads[0], 0, start, "a");
    pthread_create(&threads[1], 0, start, "b");
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    fflush(stdout);
    reweave_check(pread(file, &first, 1, 0) == 1, "nothing is there"); // <-
    reweave_check(first == 'a', "the other came first");              // <-
}
