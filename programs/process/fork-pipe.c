/* A child writes to a pipe, its parent reads up to the end. With KEPT the parent keeps its own end for writing: the pipe has none. */
#include <assert.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int ends[2];
    char bytes[4];
    if (pipe(ends) != 0) return 1;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        _exit(write(ends[1], "ab", 2) != 2);
    }
#ifndef KEPT
    close(ends[1]);
#endif
    assert(read(ends[0], bytes, sizeof bytes) == 2);
    assert(read(ends[0], bytes, sizeof bytes) == 0); /* <- */
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
