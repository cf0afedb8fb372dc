/* An `exec` that fails leaves everything as it is. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char *arguments[] = {"name", NULL}, *none[] = {NULL};
    int status;
    if (argc > 1) return 5;
    pid_t child = fork();
    if (child == 0) {
        assert(execv("/nowhere/to/be/found", arguments) == -1 && errno == ENOENT);
        assert(execv("/etc/passwd", arguments) == -1 && errno == EACCES);
        assert(execv("/etc", arguments) == -1 && errno == EACCES);
        assert(execve("/etc/passwd/x", arguments, none) == -1 && errno == ENOTDIR);
        assert(execv("", arguments) == -1 && errno == ENOENT);
        assert(execl("/nowhere", "name", "a", "b", "c", "d", "e", "f", "g", (char *)NULL) == -1 && errno == ENOENT);
        assert(execle("/nowhere", "name", "a", "b", "c", "d", "e", "f", (char *)NULL, none) == -1 && errno == ENOENT);
        setenv("PATH", "/nowhere:/etc", 1);
        assert(execvp("passwd", arguments) == -1 && errno == EACCES);
        assert(execvpe("not-there-at-all", arguments, none) == -1 && errno == ENOENT);
        assert(execlp("not-there-at-all", "name", (char *)NULL) == -1 && errno == ENOENT);
        setenv("PATH", "/nowhere:/proc/self", 1);
        execlp("exe", argv[0], "worker", (char *)NULL);
        _exit(2);
    }
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
    return 0;
}
