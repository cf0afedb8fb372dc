// A half of an atomic of 16 bytes as an atomic of its own: what one reads of the other is not known.
#include <stdatomic.h>

static union {
    _Atomic unsigned __int128 whole;
    _Atomic unsigned long half[2];
} cell;

int main(void) {
    atomic_store(&cell.whole, 1);
    return (int)atomic_load(&cell.half[1]);
}
