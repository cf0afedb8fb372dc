// Memory that is mapped lies where it did in every other run, and is new.
#define _GNU_SOURCE
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_int order;
static char *places[2];

static void *start(void *number) {
    int me = number != 0;
    order++;
    int access = PROT_READ | PROT_WRITE;
    char *memory = mmap(0, 8192, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    reweave_check(memory != MAP_FAILED && memory[0] == 0, "something is left there");
    memset(memory, 1, 8192);
    reweave_check(mprotect(memory + 4096, 4096, PROT_NONE) == 0, "not to be protected");
    memory = mremap(memory, 4096, 1 << 20, MREMAP_MAYMOVE);
    reweave_check(memory != MAP_FAILED && memory[4095] == 1 && memory[4096] == 0, "not moved");
    places[me] = memory;
    if (me)
        munmap(memory, 1 << 20);
    return 0;
}

int main(void) {
    char *brk = sbrk(4096);
    reweave_check(brk[4095] == 0, "something is left after the break");
    brk[4095] = 1;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, i ? &order : 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    reweave_check(places[0] + (256 << 20) == places[1], "addresses depend on the order");
}
