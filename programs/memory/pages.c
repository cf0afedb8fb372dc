// So many pages are written, each apart from the next, that the kernel cannot protect the others one by one: all are put back.
#include <reweave.h>
#include <pthread.h>
#include <stdatomic.h>

#define BYTES (1UL << 29)

static char memory[BYTES];
static atomic_int count;

static void *start(void *unused) {
    (void)unused;
    count++;
    return 0;
}

int main(void) {
    for (unsigned long at = 0; at < BYTES; at += 8192) {
        reweave_check(memory[at] == 0, "something is left");
        memory[at] = 1;
    }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
}
