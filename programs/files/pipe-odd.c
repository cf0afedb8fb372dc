// Two writes of 2,049 bytes do not fit into one page of the kernel's 16, so it finds the pipe full after 16, with half of its room left.
// The writer waits there for a reader that waits for the writer's end. Here it goes on, so the search is not complete.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef WRITES
#define WRITES 17
#endif

static int ends[2];
static char block[2049];

static void *write_all(void *unused) {
    for (int i = 0; i < WRITES; i++)
        if (write(ends[1], block, sizeof block) != sizeof block)
            abort();
    return unused;
}

int main(void) {
    if (pipe(ends) != 0)
        return 1;
    pthread_t thread;
    pthread_create(&thread, NULL, write_all, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < WRITES; i++)
        if (read(ends[0], block, sizeof block) != sizeof block)
            return 1;
    return 0;
}
