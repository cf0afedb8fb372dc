// Output of two threads: lines go to the terminal in the order of the run, and no order of them is explored for its own sake.
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *speak(void *arg) {
    char line[32];
    snprintf(line, sizeof line, "raw %s\n", (char *)arg);
    printf("buffered %s\n", (char *)arg);
    return write(STDOUT_FILENO, line, strlen(line)) < 0 ? arg : NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, speak, "one");
    pthread_create(&b, NULL, speak, "two");
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    fputs("done\n", stderr);
    return 0;
}
