/* A parent asks whether its child has ended. WRONG believes that it always has. */
#define _GNU_SOURCE
#include <assert.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    pid_t ended = waitpid(child, &status, WNOHANG);
#ifdef WRONG
    assert(ended == child); /* <- */
#endif
    if (ended == 0) ended = waitpid(-1, &status, WNOHANG);
    if (ended == 0) ended = waitpid(child, &status, 0);
    assert(ended == child && WEXITSTATUS(status) == 7);
    return 0;
}
