/* A thread that does nothing but sleep does not keep the program from its end. */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static void *sleeps(void *unused) {
    for (;;)
        sleep(1);
    return unused;
}

int main(void) {
    pthread_t sleeper;
    pthread_create(&sleeper, NULL, sleeps, NULL);
    pthread_detach(sleeper);
    return 0;
}
