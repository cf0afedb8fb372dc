// A choice: every value is explored, and one of three breaks the program. No other thread is needed.
#include <reweave.h>

int main(void) {
    unsigned size = reweave_any(3);
    reweave_check(size != 2, "a size of two was forgotten"); // <-
    return 0;
}
