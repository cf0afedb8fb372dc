/* Children have children of their own; one of them outlives its parent. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    atomic_int *count =
        mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t self = getpid();
    pid_t child = fork();
    if (child == 0) {
        assert(getppid() == self && getpid() != self);
        pid_t middle = getpid();
        pid_t waited = fork();
        if (waited == 0) {
            assert(getppid() == middle);
            atomic_fetch_add(count, 1);
            _exit(3);
        }
        int status;
        assert(waitpid(waited, &status, 0) == waited && WEXITSTATUS(status) == 3);
        /* Nothing waits for this one. */
        if (fork() == 0) {
            atomic_fetch_add(count, 10);
            _exit(0);
        }
        _exit(4);
    }
    int status;
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
    /* It is no child of this process. */
    assert(wait(&status) == -1 && errno == ECHILD);
    int seen = atomic_load(count);
    assert(seen == 1 || seen == 11);
    return 0;
}
