// A process finds itself in /proc by the number that `getpid` returns, also after it has changed files.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void *look(void *unused) {
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", getpid());
    int file = open(path, O_RDONLY);
    assert(file >= 0 && read(file, text, sizeof text) > 0);
    close(file);
    snprintf(path, sizeof path, "/proc/%d/fd/0", getpid());
    assert(readlink(path, text, sizeof text) > 0);
    snprintf(path, sizeof path, "/proc/%d", getpid());
    struct stat directory;
    assert(stat(path, &directory) == 0 && S_ISDIR(directory.st_mode));
    snprintf(path, sizeof path, "/proc/%d0000000", getpid());
    assert(access(path, F_OK) == -1);
    return unused;
}

int main(void) {
    look(NULL);
    FILE *file = fopen("own-number.tmp", "w");
    fclose(file);
    pthread_t thread;
    pthread_create(&thread, NULL, look, NULL);
    unlink("own-number.tmp");
    pthread_join(thread, NULL);
    return 0;
}
