/* A parent asks how its children have ended. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    siginfo_t info;
    pid_t first = fork();
    if (first == 0) _exit(7);
    assert(waitid(P_PID, first, &info, WEXITED) == 0);
    assert(info.si_pid == first && info.si_code == CLD_EXITED && info.si_status == 7 && info.si_signo == SIGCHLD);
    assert(waitid(P_PID, first, &info, WEXITED) == -1 && errno == ECHILD);
    assert(waitid(P_ALL, 0, &info, 0) == -1 && errno == EINVAL);
    pid_t second = fork();
    if (second == 0) {
        raise(SIGTERM);
        _exit(0);
    }
    assert(waitid(P_ALL, 0, &info, WEXITED) == 0);
    assert(info.si_pid == second && info.si_code == CLD_KILLED && info.si_status == SIGTERM);
    return 0;
}
