/* Two requests and replies over a pair of sockets. With LATE the server ends after the first. */
#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
    pid_t server = fork();
    if (server == 0) {
        close(ends[0]);
        int number;
        while (read(ends[1], &number, sizeof number) == sizeof number) {
            number *= 2;
            write(ends[1], &number, sizeof number);
#ifdef LATE
            break;
#endif
        }
        _exit(0);
    }
    close(ends[1]);
    for (int i = 1; i <= 2; i++) {
        int number = i;
        assert(send(ends[0], &number, sizeof number, MSG_NOSIGNAL) == sizeof number);
        assert(read(ends[0], &number, sizeof number) == sizeof number); /* <- */
        assert(number == 2 * i);
    }
    close(ends[0]);
    int status;
    assert(waitpid(server, &status, 0) == server && status == 0);
    return 0;
}
