// The kernel charges each write to a socket with a buffer of its own, so 278 single bytes fill it. Here there is room for more, so the
// search is not complete.
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef WRITES
#define WRITES 279
#endif

int main(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 1;
    for (int i = 0; i < WRITES; i++)
        if (write(ends[1], "x", 1) != 1)
            abort();
    char byte;
    for (int i = 0; i < WRITES; i++)
        if (read(ends[0], &byte, 1) != 1)
            return 1;
    return 0;
}
