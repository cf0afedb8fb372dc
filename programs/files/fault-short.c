/* A thread reads two bytes from a pipe, and takes one read for enough; with LOOP it goes on until it has both. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static int ends[2];

static void *reads(void *unused) {
    char bytes[2];
    size_t had = 0;
    do {
        ssize_t more = read(ends[0], bytes + had, sizeof bytes - had);
        assert(more > 0);
        had += (size_t)more;
#ifdef LOOP
    } while (had < sizeof bytes);
#else
    } while (0);
#endif
    assert(had == sizeof bytes && bytes[1] == 'b'); /* <- */
    return unused;
}

int main(void) {
    pthread_t thread;
    assert(pipe(ends) == 0);
    assert(write(ends[1], "ab", 2) == 2);
    pthread_create(&thread, NULL, reads, NULL);
    pthread_join(thread, NULL);
    return 0;
}
