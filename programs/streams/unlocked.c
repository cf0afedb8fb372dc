// Calls that take no lock race with each other and with those that take one. With LOCKED they are made under `flockfile`.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

#ifndef LOCKED
#define LOCKED 0
#endif
#ifndef OTHER
#define OTHER 0
#endif

static FILE *stream;

static void put(void) {
    if (LOCKED)
        flockfile(stream);
    fwrite_unlocked("text", 1, 4, stream); // <- one of them, or of those below
    if (LOCKED)
        funlockfile(stream);
}

static void *write_other(void *unused) {
    if (OTHER)
        fputs("more", stream); // <- with a lock that the first thread does not take
    else
        put();
    return unused;
}

int main(void) {
    stream = tmpfile();
    pthread_t thread;
    pthread_create(&thread, NULL, write_other, NULL);
    put();
    pthread_join(thread, NULL);
    fclose(stream);
    return 0;
}
