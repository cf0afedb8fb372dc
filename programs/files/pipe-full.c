// Two threads write more than a pipe has room for, each to the other, before they read.
#include <pthread.h>
#include <unistd.h>

static int there[2], back[2];
static char block[65536];

static void exchange(int out, int in) {
    char answer;
    write(out, block, sizeof block);
#ifndef FIXED
    write(out, block, 1); // <- there is no room, and the other thread does the same
#endif
    read(in, &answer, 1);
}

static void *other(void *unused) {
    exchange(back[1], there[0]);
    return unused;
}

int main(void) {
    pthread_t thread;
    pipe(there);
    pipe(back);
    pthread_create(&thread, NULL, other, NULL);
    exchange(there[1], back[0]);
    pthread_join(thread, NULL);
}
