// A file that is mapped: what calls do to it are accesses to the mapping.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 4096 };

static int file;
static char *map;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *writes(void *unused) {
#if defined(UNLOCKED)
    pwrite(file, "z", 1, 1); // <-
#elif defined(SHORTENED)
    ftruncate(file, 1); // <-
#elif defined(REPLACED)
    close(open("/dev/shm/reweave-mapped", O_WRONLY | O_TRUNC));
#else
    pthread_mutex_lock(&lock);
    pwrite(file, "z", 1, 1);
    pthread_mutex_unlock(&lock);
    // Somewhere else.
    pwrite(file, "z", 1, 2);
    char seen;
    reweave_check(pread(file, &seen, 1, 0) == 1, "nothing is read");
#endif
#ifdef TWICE
    char *other = mmap(0, SIZE, PROT_READ, MAP_SHARED, file, 0);
    reweave_check(other[0] == 'a', "something else is mapped");
#endif
    return unused;
}

int main(void) {
    file = shm_open("/reweave-mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
    reweave_check(file >= 0 && ftruncate(file, SIZE) == 0, "it cannot be made");
    reweave_check(write(file, "abc", 3) == 3, "nothing is written");
    map = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    reweave_check(map != MAP_FAILED && map[1] == 'b', "something else is mapped");
    pthread_t thread;
    pthread_create(&thread, 0, writes, 0);
#if defined(UNLOCKED) || defined(SHORTENED)
    map[1] = 'y'; // <-
#elif defined(REPLACED)
    map[1] = 'y';
#else
    pthread_mutex_lock(&lock);
    char seen = map[1];
    pthread_mutex_unlock(&lock);
#ifdef NEVER
    reweave_check(seen == 'b', "it has changed"); // <-
#else
    reweave_check(seen == 'b' || seen == 'z', "something else is there");
#endif
#endif
    pthread_join(thread, 0);
#ifdef TWICE
    map[0] = 'y';
#endif
    munmap(map, SIZE);
    close(file);
    shm_unlink("/reweave-mapped");
    pthread_mutex_destroy(&lock);
}
