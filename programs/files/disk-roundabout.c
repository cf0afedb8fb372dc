// Names a file by way of what the kernel tells of the process, after something was changed where it lies. The file itself, its own source, stays as it is.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static long size_of(const char *path) {
    struct stat it;
    return stat(path, &it) ? -1 : it.st_size;
}

int main(void) {
    char path[5000], here[4000];
    long whole = size_of("disk-roundabout.c");
    assert(whole > 0 && getcwd(here, sizeof here));
    assert(mkdir("disk-roundabout.d", 0755) == 0);
    assert(truncate("/proc/self/cwd/disk-roundabout.c", 7) == 0);
    assert(size_of("disk-roundabout.c") == 7);
    snprintf(path, sizeof path, "/proc/self/root%s/disk-roundabout.c", here);
    assert(truncate(path, 5) == 0 && size_of("disk-roundabout.c") == 5);
    int file = open("/proc/thread-self/cwd/disk-roundabout.c", O_WRONLY | O_TRUNC);
    assert(file >= 0 && write(file, "abc", 3) == 3 && close(file) == 0);
    assert(size_of("disk-roundabout.c") == 3 && size_of("/proc/self/cwd/disk-roundabout.c") == 3);
    return 0;
}
