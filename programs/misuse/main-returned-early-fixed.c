// main-returned-early.c put right: main ends, and the program when its last thread does.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int steps;

static void *work(void *arg) {
    (void)arg;
    atomic_fetch_add(&steps, 1);
    atomic_fetch_add(&steps, 1);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_detach(thread);
    pthread_exit(NULL);
}
