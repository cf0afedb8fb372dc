// One thread is enough: the compare-exchange succeeds if the second block has the address of the first.
#include <reweave.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(char *) slot;

int main(void) {
    char *first = malloc(1), *expected = first;
    slot = first;
    free(first);
    char *second = malloc(1);
    slot = second;
    reweave_check(!atomic_compare_exchange_strong(&slot, &expected, 0), "mistaken"); // <- assertion
    free(second);
}
