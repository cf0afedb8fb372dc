// One thread copies a string while another one changes it, byte for byte or by a function.
#define _GNU_SOURCE
#include <pthread.h>
#include <reweave.h>
#include <string.h>

static char text[32] = "some text", copy[32];

static void *reader(void *unused) {
    switch (reweave_any(4)) {
    case 0:
        memcpy(copy, text, sizeof text); // <-
        break;
    case 1:
        reweave_check(strlen(text) > 0, "empty"); // <-
        break;
    case 2:
        reweave_check(strcmp(text, "some other text") != 0, "equal"); // <-
        break;
    default:
        // Ends before what the other thread writes.
        reweave_check(strncmp(text, "so other", 5) != 0 && strnlen(text, 5) == 5, "equal");
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    memset(text + 5, 'x', 2); // <-
    pthread_join(thread, 0);
}
