// `flockfile` is a lock that its holder may take again.
#include <pthread.h>
#include <reweave.h>
#include <stdio.h>

static int inside;

static void *start(void *unused) {
    flockfile(stdout);
    flockfile(stdout);
    inside++;
    puts("one line");
    funlockfile(stdout);
    inside--;
    reweave_check(inside == 0, "two threads hold one stream");
    funlockfile(stdout);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    reweave_check(ftrylockfile(stdout) == 0, "a free stream is not to be had");
}
