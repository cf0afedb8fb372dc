// A child closes its copy of a descriptor with the number that its parent waits for: that is another process's, and the wait goes on as it should.
#include <poll.h>
#include <reweave.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int ends[2];
    reweave_check(pipe(ends) == 0, "there is no pipe");
    if (fork() == 0) {
        close(ends[0]);
        _exit(write(ends[1], "x", 1) != 1);
    }
    struct pollfd entry = {ends[0], POLLIN, 0};
    reweave_check(poll(&entry, 1, -1) == 1, "nothing is ready");
    int status;
    wait(&status);
    reweave_check(status == 0, "the child could not write");
}
