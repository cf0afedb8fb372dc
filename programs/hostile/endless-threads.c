/* Creates threads for ever. Creating one is no step, so only a limit of its own ends the run. */
#include <pthread.h>
#include <stddef.h>

static void *nothing(void *unused) {
    return unused;
}

int main(void) {
    for (;;) {
        pthread_t thread;
        pthread_create(&thread, NULL, nothing, NULL);
    }
}
