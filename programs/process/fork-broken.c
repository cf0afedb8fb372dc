/* A child writes to a pipe whose last reader may be gone. HANDLED: the error is expected. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int ends[2];
    if (pipe(ends)) return 1;
#ifdef HANDLED
    signal(SIGPIPE, SIG_IGN);
#endif
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        ssize_t put = write(ends[1], "a", 1);
        assert(put == 1 || (put == -1 && errno == EPIPE));
        _exit(put == 1 ? 0 : 2);
    }
    close(ends[0]);
    int status;
    assert(waitpid(child, &status, 0) == child);
#ifdef HANDLED
    assert(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2));
#else
    assert(!WIFSIGNALED(status)); /* <- SIGPIPE */
#endif
    return 0;
}
