// The first process ends, and its child waits for bytes that never come, since it can write them itself. With CLOSED it cannot.
#include <unistd.h>

#ifndef CLOSED
#define CLOSED 0
#endif

int main(void) {
    int ends[2];
    if (pipe(ends) != 0 || fork() != 0)
        return 0;
    char byte;
    if (CLOSED)
        close(ends[1]);
    _exit(read(ends[0], &byte, 1) != 0);
}
