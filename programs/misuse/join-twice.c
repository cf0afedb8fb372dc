// A thread is joined twice.
#include <pthread.h>
#include <stddef.h>

static void *work(void *arg) { return arg; }

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL); // <- joined here already
    pthread_join(thread, NULL); // <- there is no such thread any more
    return 0;
}
