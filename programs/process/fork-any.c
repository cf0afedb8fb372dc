/* A parent waits for any of its children. WRONG believes that the first one always ends first. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(i);
    }
    int status;
    pid_t first = wait(&status);
    assert(first == children[WEXITSTATUS(status)]);
#ifdef WRONG
    assert(first == children[0]); /* <- */
#endif
    pid_t second = waitpid(-1, &status, 0);
    assert(second == children[WEXITSTATUS(status)] && second != first);
    assert(wait(NULL) == -1 && errno == ECHILD);
    return 0;
}
