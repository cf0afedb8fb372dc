// A block that memory of the program's own points to is no leak, though nobody may read that memory; gone with it the block is one.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#define ROOM (1UL << 32)

int main(void) {
    int access = PROT_READ | PROT_WRITE;
    void **memory = mmap(0, ROOM, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    munmap((char *)memory + (1 << 20), 4096);
    memory[ROOM / 16] = malloc(10); // <-
    mprotect(memory, 1 << 20, PROT_NONE);
    mprotect(memory + ROOM / 16, 4096, PROT_NONE);
#ifdef LOST
    munmap(memory, ROOM);
#endif
}
