// Descriptors are as they were at `main` in every run: what was opened is closed, what was closed is open. Output works in between.
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char large[1 << 17];
static struct stat status;

static void *start(void *unused) {
    int file = open("/proc/self/cmdline", O_RDONLY);
    reweave_check(file == 3, "a descriptor is left of an earlier run");
    reweave_check(read(file, large + 4096, 10) == 10, "the kernel cannot write there");
    reweave_check(fstat(file, &status) == 0, "the kernel cannot write there, either");
    FILE *stream = fopen("/proc/self/cmdline", "r");
    reweave_check(stream && fileno(stream) == 4, "a stream is left of an earlier run");
    char line[16] = "";
    reweave_check(fgets(line, sizeof line, stream) == line && line[0] == large[4096], "the same bytes twice");
    return unused;
}

int main(void) {
    reweave_check(printf("%s\n", "some output") == 12 && fflush(stdout) == 0, "no output");
    reweave_check(write(2, "more\n", 5) == 5, "no error output");
    if (reweave_any(2)) {
        fclose(stdout);
        close(2);
        reweave_check(write(2, "lost\n", 5) == -1, "a closed descriptor works");
    }
    close(1000);
    pthread_t thread;
    reweave_any(2);
    dup2(0, 0);
    if (access("/proc/self/fd/2", F_OK) == 0) {
        pthread_create(&thread, 0, start, 0);
        pthread_join(thread, 0);
    }
}
