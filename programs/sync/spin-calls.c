// Loops that wait for nobody: each round changes something in the library that no hook sees, until the loop leaves.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int never;
static pthread_key_t key;
static unsigned seed;
static char text[32] = "0", words[] = "a b c d e f g h i";
static int begun;

static int leaves(int way) {
    switch (way) {
    case 0:
        return rand() % 8 == 0;
    case 1:
        return random() % 8 == 0;
    case 2:
        return drand48() < 0.1;
    case 3:
        return rand_r(&seed) % 8 == 0;
    case 4:
        return !strtok(begun++ ? 0 : words, " ");
    case 5:
        sprintf(text, "%d", atoi(text) + 1);
        return atoi(text) >= 9;
    default: {
        char *before = pthread_getspecific(key);
        pthread_setspecific(key, before + 1);
        return before == (char *)9;
    }
    }
}

static void *start(void *unused) {
    for (int way = 0; way < 7; way++)
        while (!never)
            if (leaves(way))
                break;
    return unused;
}

int main(void) {
    pthread_key_create(&key, 0);
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    pthread_join(thread, 0);
    start(0);
}
