// What the thread that calls `exit` still points to is no leak, though nobody else is there; what it has lost is one.
#include <stdlib.h>

int main(void) {
    char *volatile held[2] = {malloc(10), 0}; // <-
#ifdef LOST
    held[0] = 0;
#endif
    exit(held[1] != 0);
}
