// Files that are mapped and that nobody changes; and mappings that nobody else sees.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 4096 };

static char *mapped(int file, int access, int how) {
    char *map = mmap(0, SIZE, access, how, file, 0);
    reweave_check(map != MAP_FAILED, "it cannot be mapped");
    return map;
}

static void *reads(void *own) {
    int input = open(own, O_RDONLY);
    char *map = mapped(input, PROT_READ, MAP_SHARED);
    char *copy = mapped(input, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    copy[0]++;
    reweave_check(map[0] == 'a' && copy[0] == 'b', "something else is there");
    munmap(map, SIZE);
    munmap(copy, SIZE);
    close(input);
    // A file of its own, with what was written to the mapping in it.
    int temporary = memfd_create("own", 0);
    reweave_check(ftruncate(temporary, SIZE) == 0, "it has no room");
    map = mapped(temporary, PROT_READ | PROT_WRITE, MAP_SHARED);
    strcpy(map, "text");
    char text[5];
    reweave_check(pread(temporary, text, 5, 0) == 5 && !strcmp(text, "text"), "something else is there");
    reweave_check(pwrite(temporary, "n", 1, 0) == 1 && map[0] == 'n', "it is not seen");
    munmap(map, SIZE);
    close(temporary);
    return 0;
}

int main(void) {
    char name[] = "reweave-XXXXXX";
    int file = mkstemp(name);
    reweave_check(write(file, "a", 1) == 1, "nothing is written");
    // Alone one may do anything.
    char *map = mapped(file, PROT_READ | PROT_WRITE, MAP_SHARED);
    char *same = mapped(file, PROT_READ, MAP_SHARED);
    map[0] = 'b';
    reweave_check(same[0] == 'b' && pwrite(file, "a", 1, 0) == 1 && map[0] == 'a', "it is not seen");
    munmap(same, SIZE);
    munmap(map, SIZE);
    close(file);
    pthread_t thread;
    pthread_create(&thread, 0, reads, name);
    reads(name);
    pthread_join(thread, 0);
    unlink(name);
}
