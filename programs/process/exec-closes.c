/* A child runs the program again, as one that reads its standard input to the end. With KEPT the end for writing is not closed by `exec`:
   the reader waits for itself. */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef KEPT
enum { FLAGS = 0 };
#else
enum { FLAGS = O_CLOEXEC };
#endif

int main(int argc, char **argv) {
    int ends[2], status;
    char letters[4];
    if (argc > 1) {
        ssize_t got, all = 0;
        while ((got = read(STDIN_FILENO, letters, sizeof letters)) > 0) all += got; /* <- */
        return (int)all;
    }
    if (pipe2(ends, FLAGS) != 0) return 1;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        execlp(argv[0], argv[0], "reader", (char *)NULL);
        _exit(9);
    }
    assert(write(ends[1], "abc", 3) == 3);
    close(ends[0]);
    close(ends[1]);
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3); /* <- */
    return 0;
}
