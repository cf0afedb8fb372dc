// Memory that is not leaked: a packed structure points to it, the kernel uses it as a stack for handlers, a thread has returned it, or a handler
// of the end of the process is to get it.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static struct __attribute__((packed)) {
    char first;
    char *volatile pointer;
} packed;

static void *give(void *arg) {
    (void)arg;
    return malloc(8);
}

static void take(int status, void *memory) {
    (void)status;
    free(memory);
}

static void __attribute__((noinline)) keep(void) {
    pthread_t thread;
    stack_t stack = {.ss_size = 65536};
    switch (WAY) {
    case 1:
        stack.ss_sp = malloc(stack.ss_size);
        sigaltstack(&stack, NULL);
        break;
    case 2:
        pthread_create(&thread, NULL, give, NULL);
        break;
    case 3:
        on_exit(take, malloc(8));
        break;
    default:
        packed.pointer = malloc(8);
    }
}

static void __attribute__((noinline)) overwrite(void) {
    volatile char room[4096];
    for (unsigned i = 0; i < sizeof room; i++)
        room[i] = 0;
}

int main(void) {
    keep();
    overwrite();
    if (WAY == 2)
        pthread_exit(NULL);
    if (WAY == 3)
        _exit(0);
}
