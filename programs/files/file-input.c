// Threads that read one file, each through a descriptor or stream of its own, and write files of their own, do not meet.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef N
#define N 3
#endif

static char name[] = "reweave-XXXXXX";
static int common;

static void *start(void *own) {
    char letters[3];
#if defined(COMMON)
    reweave_check(read(common, letters, 1) == 1, "nothing is read");
    reweave_check(letters[0] == 'a', "another was the first"); // <-
#elif defined(WRITTEN)
    int file = open(name, O_RDWR);
    if (own)
        reweave_check(write(file, "d", 1) == 1, "nothing is written");
    else
        reweave_check(read(file, letters, 1) == 1 && letters[0] == 'a', "it was changed"); // <-
#else
    int file = open(name, O_RDONLY);
    reweave_check(read(file, letters, 2) == 2 && letters[0] == 'a', "something else is read");
    reweave_check(lseek(file, 0, SEEK_CUR) == 2, "it stands elsewhere");
    reweave_check(read(file, letters, 2) == 1 && letters[0] == 'c', "something else is read");
    close(file);
    FILE *stream = fopen(name, "r");
    char line[8];
    reweave_check(fgets(line, sizeof line, stream) && line[2] == 'c', "something else is read");
    fclose(stream);
    char output[] = "reweave-output-a";
    output[sizeof output - 2] += own ? *(char *)own : 0;
    stream = fopen(output, "w");
    fputs("text", stream);
    fclose(stream);
    unlink(output);
#endif
    return own;
}

int main(void) {
    static char numbers[N];
    common = mkstemp(name);
    reweave_check(write(common, "abc", 3) == 3 && lseek(common, 0, SEEK_SET) == 0, "nothing is written");
    pthread_t threads[N];
    for (int i = 1; i < N; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], 0, start, &numbers[i]);
    }
    start(0);
    for (int i = 1; i < N; i++)
        pthread_join(threads[i], 0);
    close(common);
    unlink(name);
}
