// What a thread does before it writes to a pipe happens before the read that gets it, and no more than that.
#include <pthread.h>
#include <reweave.h>
#include <unistd.h>

static int ends[2];
static int value;

static void *writer(void *unused) {
    value = 1;
    write(ends[1], "x", 1);
#ifdef LATE
    value = 2; // <-
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    char text;
    pipe(ends);
    pthread_create(&thread, NULL, writer, NULL);
    read(ends[0], &text, 1);
    reweave_check(value >= 1, "it was not written"); // <-
    pthread_join(thread, NULL);
}
