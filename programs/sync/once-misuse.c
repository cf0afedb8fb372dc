// Garbage is no variable for pthread_once.
#include <pthread.h>
#include <stdlib.h>

static void make(void) {}

int main(void) {
    pthread_once_t *once = malloc(sizeof *once);
    pthread_once(once, make); // <-
    free(once);
    return 0;
}
