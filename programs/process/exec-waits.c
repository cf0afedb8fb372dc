/* A process with a child of its own begins again twice, and then waits for that child, which has the number that it was told. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int status;
    char number[16];
    if (argc == 2) {
        execl("/proc/self/exe", argv[0], argv[1], "last", (char *)NULL);
        _exit(2);
    }
    if (argc == 3) {
        assert(wait(&status) == atoi(argv[1]) && WEXITSTATUS(status) == 6);
        return wait(NULL) == -1 ? 4 : 3;
    }
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) _exit(6);
        snprintf(number, sizeof number, "%d", (int)grandchild);
        execl("/proc/self/exe", argv[0], number, (char *)NULL);
        _exit(2);
    }
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
    return 0;
}
