// A thread ends the process. It never comes to its own end, so nobody can join it.
#include <pthread.h>
#include <reweave.h>
#include <stdlib.h>

static void *quit(void *unused) {
    (void)unused;
    exit(0);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, quit, 0);
    pthread_join(thread, 0);
    reweave_check(false, "joined a thread that has ended the process");
}
