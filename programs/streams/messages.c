/* Messages on standard error, which goes to a file, by two threads (-DWRITES): each is a step, so they come in either order. Those that end the
 * process (-DENDS) run what was registered for that. */
#define _GNU_SOURCE
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef WRITES
#define WRITES perror(name)
#endif

static int file;

#ifdef ENDS
static void last(void) {
    static char text[400];
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    assert(length > 0 && strstr(text, "A 7"));
    write(file, "last", 4);
}

int main(void) {
    file = open("said", O_CREAT | O_TRUNC | O_RDWR, 0600);
    dup2(file, 2);
    atexit(last);
    errno = ENOENT;
    ENDS; /* <- */
    return 0;
}
#else
static void *one(void *unused) {
    const char *name = "<A>";
    WRITES;
    return unused;
}

static void *other(void *unused) {
    const char *name = "<B>";
    WRITES;
    return unused;
}

int main(void) {
    file = open("said", O_CREAT | O_TRUNC | O_RDWR, 0600);
    dup2(file, 2);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, other, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    static char text[400];
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    assert(length > 0);
    const char *first = strstr(text, "<A>"), *second = strstr(text, "<B>");
    assert(first && second);
    assert(first < second); /* <- the other order */
    return 0;
}
#endif
