// A number is read from a text that another thread changes.
#include <pthread.h>
#include <stdlib.h>

static char text[] = "1.5";

static void *writer(void *unused) {
    text[0] = '2'; // <-
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    float number = strtof(text, NULL); // <-
    pthread_join(thread, NULL);
    return number < 1;
}
