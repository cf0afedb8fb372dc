// Threads that open files of their own do not meet, whatever numbers these get.
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdio.h>
#include <unistd.h>

#ifndef N
#define N 2
#endif

static void *start(void *place) {
    char name[] = "own-0.tmp", byte = 0;
    name[4] += (char)*(int *)place;
    FILE *stream = fopen(name, "w");
    reweave_check(stream && fputc(name[4], stream) == name[4] && fclose(stream) == 0, "nothing is written");
    int file = open(name, O_RDONLY);
    reweave_check(read(file, &byte, 1) == 1 && byte == name[4], "it is not this thread's own file");
    reweave_check(close(file) == 0, "it is closed already");
    unlink(name);
    return 0;
}

int main(void) {
    pthread_t threads[N];
    int places[N];
    int before = open("/dev/null", O_RDONLY);
    close(before);
    for (int i = 0; i < N; i++) {
        places[i] = i;
        pthread_create(&threads[i], 0, start, &places[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], 0);
    // One thread has the lowest number that is free, as ever.
    reweave_check(open("/dev/null", O_RDONLY) == before, "a descriptor is left open");
}
