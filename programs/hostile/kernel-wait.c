/* A thread reads from a pipe that was made before `main`, so the operating system has it, and that nobody writes to. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];
static atomic_int turns;

__attribute__((constructor)) static void make(void) {
    if (pipe(ends))
        _exit(1);
}

static void *start(void *unused) {
    char text[9];
    turns++;
    fgets(text, sizeof text, fdopen(ends[0], "r"));
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, start, NULL);
    turns++;
    pthread_join(thread, NULL);
}
