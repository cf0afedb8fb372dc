// More memory in all than a thread may have, and than it has addresses for small mappings: but little at a time.
#define _GNU_SOURCE
#include <assert.h>
#include <stddef.h>
#include <sys/mman.h>

#define BYTES (8 << 20)

int main(void) {
    for (int i = 0; i < 200; i++) {
        char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert(memory != MAP_FAILED);
        memory[i] = 1;
        assert(munmap(memory, BYTES) == 0);
    }
    return 0;
}
