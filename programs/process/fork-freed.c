// The child has a copy of memory that was freed before the fork, and uses it.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    volatile int *kept = malloc(sizeof *kept), *freed = malloc(sizeof *freed);
    *kept = *freed = 1;
    free((void *)freed); // <- the parent frees it
    if (fork() == 0)
        _exit(*kept - *freed); // <- and the child reads it
    wait(NULL);
    free((void *)kept);
    return 0;
}
