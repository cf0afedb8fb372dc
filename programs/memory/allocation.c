// The rarer functions of the allocator, as glibc has them.
#define _GNU_SOURCE
#include <malloc.h>
#include <reweave.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *pages = valloc(10);
    reweave_check((uintptr_t)pages % 4096 == 0, "valloc: not at the beginning of a page");
    free(pages);
    pages = pvalloc(10);
    reweave_check((uintptr_t)pages % 4096 == 0, "pvalloc: not at the beginning of a page");
    memset(pages, 0, 4096);
    free(pages);

    char *block = reallocarray(0, 3, 4);
    block[11] = 7;
    block = reallocarray(block, 6, 4);
    reweave_check(block[11] == 7, "reallocarray: not what was there");
    // What the compiler does not follow.
    char *volatile given = block;
    volatile size_t many = SIZE_MAX / 2;
    reweave_check(reallocarray(given, many, 4) == 0, "reallocarray: too many");
    reweave_check(realloc(given, 0) == 0, "realloc: nothing is a block"); // <-

#if WRONG == 1
    block = realloc(given, 20); // <-
    free(block);
#elif WRONG == 2
    static char here[10];
    given = here;
    block = realloc(given, 20); // <-
    free(block);
#elif WRONG == 3
    free(given); // <-
#endif
}
