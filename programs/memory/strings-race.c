// One thread changes a string while another one reads it, each by a function.
#define _GNU_SOURCE
#include <pthread.h>
#include <reweave.h>
#include <string.h>

static char text[32] = "some text", copy[32];
static unsigned which;

static void *writer(void *unused) {
    switch (which) {
    case 0:
        memset(text + 5, 'x', 2); // <-
        break;
    case 1:
        memcpy(text + 5, "xy", 2); // <-
        break;
    case 3:
        memset(text + 5, 'z', 2); // <-
        break;
    default:
        strcpy(text + 5, "next"); // <-
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    which = reweave_any(5);
    pthread_create(&thread, 0, writer, 0);
    switch (which) {
    case 0:
        memcpy(copy, text, sizeof text); // <-
        break;
    case 1:
        reweave_check(strlen(text) > 0, "empty"); // <-
        break;
    case 2:
        reweave_check(strcmp(text, "some other text") != 0, "equal"); // <-
        break;
    case 3:
        reweave_check(memmem(text, 9, "other", 5) == 0, "found"); // <-
        break;
    default:
        // Ends before what the other thread writes.
        reweave_check(strncmp(text, "so other", 5) != 0 && strnlen(text, 5) == 5, "equal");
    }
    pthread_join(thread, 0);
}
