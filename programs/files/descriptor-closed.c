// A descriptor is closed, or stands for another file, while another thread reads from it: which of the two the read finds depends on the order.
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdlib.h>
#include <unistd.h>

static int first, second;

static int filled(const char *text) {
    char name[] = "reweave-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    reweave_check(write(file, text, 1) == 1 && lseek(file, 0, SEEK_SET) == 0, "nothing is written");
    return file;
}

static void *start(void *unused) {
    char byte = 0;
    ssize_t got = read(first, &byte, 1);
#if defined(CLOSED) && defined(CERTAIN)
    reweave_check(got == 1, "it is closed"); // <-
#elif defined(CLOSED)
    reweave_check(got == 1 || errno == EBADF, "neither read nor closed");
#elif defined(CERTAIN)
    reweave_check(got == 1 && byte == 'a', "it is another file"); // <-
#else
    reweave_check(got == 1 && (byte == 'a' || byte == 'b'), "it is neither of the two");
#endif
    return unused;
}

int main(void) {
    first = filled("a");
    second = filled("b");
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
#ifdef CLOSED
    close(first);
#else
    dup2(second, first);
#endif
    pthread_join(thread, 0);
    char byte = 0;
#ifdef CLOSED
    reweave_check(read(first, &byte, 1) == -1 && errno == EBADF, "a closed descriptor works");
#else
    // The two are one file, read once or not at all.
    reweave_check(read(first, &byte, 1) >= 0, "it is closed");
#endif
}
