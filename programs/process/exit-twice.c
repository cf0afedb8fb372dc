// Two threads end the process. The first one's status counts.
#include <pthread.h>
#include <stdlib.h>

static void *well(void *unused) {
    (void)unused;
    exit(0);
}

static void *badly(void *unused) {
    (void)unused;
    exit(3); // <-
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, well, 0);
    pthread_create(&two, 0, badly, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
}
