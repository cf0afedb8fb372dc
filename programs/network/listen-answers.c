// What the calls on sockets that listen and connect return, as they do without the checker.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <reweave.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define fails(call, error) (errno = 0, (call) == -1 && errno == (error))

static char text[16];

/* Where the sockets of this family listen; the length of the address. */
static socklen_t place(int family, struct sockaddr_storage *address) {
    memset(address, 0, sizeof *address);
    if (family == AF_INET) {
        struct sockaddr_in *in = (void *)address;
        in->sin_family = AF_INET;
        in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return sizeof *in;
    }
    struct sockaddr_un *un = (void *)address;
    un->sun_family = AF_UNIX;
    strcpy(un->sun_path, "listen-answers.socket");
    return sizeof *un;
}

static int event(int fd, int events) {
    struct pollfd one = {.fd = fd, .events = events};
    return poll(&one, 1, 0) < 0 ? -1 : one.revents;
}

static int option(int fd, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &length) || length != sizeof value ? -1 : value;
}

static void unconnected(int family) {
    struct sockaddr_storage address;
    socklen_t length = place(family, &address);
    int fd = socket(family, SOCK_STREAM, 0);
    int tcp = family == AF_INET;
    signal(SIGPIPE, SIG_IGN);
    reweave_check(fails(read(fd, text, 1), tcp ? ENOTCONN : EINVAL), "it can be read");
    reweave_check(fails(write(fd, text, 1), tcp ? EPIPE : ENOTCONN), "it can be written to");
    reweave_check(fails(accept(fd, NULL, NULL), EINVAL), "it listens");
    reweave_check(fails(getpeername(fd, (void *)&address, &length), ENOTCONN), "it has a peer");
    reweave_check(event(fd, POLLIN | POLLOUT) == (POLLOUT | POLLHUP), "it waits");
    reweave_check(option(fd, SO_ACCEPTCONN) == 0 && option(fd, SO_TYPE) == SOCK_STREAM, "it is another kind");
    reweave_check(option(fd, SO_DOMAIN) == family && option(fd, SO_ERROR) == 0, "it is another family");
    reweave_check(fails(bind(98, (void *)&address, length), EBADF), "it is open");
    close(fd);
}

static void connection(int family) {
    struct sockaddr_storage address, other;
    socklen_t length = place(family, &address), stored = sizeof other;
    int server = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    reweave_check(setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0, "it has no options");
    reweave_check(bind(server, (void *)&address, length) == 0, "it is not bound");
    if (family == AF_INET)
        reweave_check(fails(bind(server, (void *)&address, length), EINVAL), "it is bound twice");
    reweave_check(getsockname(server, (void *)&address, &length) == 0, "it has no name");
    int client = socket(family, SOCK_STREAM, 0), second = socket(family, SOCK_STREAM, 0);
    reweave_check(fails(connect(client, (void *)&address, length), ECONNREFUSED), "it listens already");
    reweave_check(listen(server, 5) == 0 && option(server, SO_ACCEPTCONN) == 1, "it does not listen");
    reweave_check(fails(bind(second, (void *)&address, length), EADDRINUSE), "the name is free");
    reweave_check(event(server, POLLIN) == 0, "there is a connection");
    reweave_check(connect(client, (void *)&address, length) == 0, "it is refused");
    reweave_check(fails(connect(client, (void *)&address, length), EISCONN), "it is connected twice");
    reweave_check(write(client, "abc", 3) == 3 && event(server, POLLIN) == POLLIN, "nothing is there");
    int taken = accept4(server, (void *)&other, &stored, SOCK_NONBLOCK);
    reweave_check(taken >= 0 && fcntl(taken, F_GETFL) & O_NONBLOCK, "it is not accepted");
    struct sockaddr_storage own;
    socklen_t owned = sizeof own;
    reweave_check(getsockname(client, (void *)&own, &owned) == 0 && owned == stored, "names differ");
    reweave_check(!memcmp(&own, &other, owned < 8 ? owned : 8), "names differ");
    reweave_check(stored == (family == AF_INET ? 16 : 2), "the name has another length");
    owned = sizeof own;
    reweave_check(getpeername(client, (void *)&own, &owned) == 0 && owned == length, "names differ");
    reweave_check(!memcmp(&own, &address, 8), "names differ");
    reweave_check(read(taken, text, 16) == 3 && fails(read(taken, text, 16), EAGAIN), "it is not received");
    reweave_check(send(taken, "de", 2, 0) == 2 && recv(client, text, 16, 0) == 2, "nothing is sent");
    reweave_check(shutdown(client, SHUT_WR) == 0 && read(taken, text, 16) == 0, "it has no end");
    reweave_check(event(taken, POLLIN | POLLRDHUP | POLLOUT) == (POLLIN | POLLRDHUP | POLLOUT), "it has no end");
    reweave_check(write(taken, "f", 1) == 1 && read(client, text, 16) == 1, "the other way is shut");
    reweave_check(fails(write(client, "g", 1), EPIPE), "it is open");
    close(taken);
    reweave_check(read(client, text, 16) == 0, "it has no end");
    close(client);
    close(second);
    /* A connection that is never accepted. */
    client = socket(family, SOCK_STREAM, 0);
    reweave_check(connect(client, (void *)&address, length) == 0 && close(server) == 0, "it is refused");
    reweave_check(fails(read(client, text, 16), ECONNRESET), "it is not reset");
    reweave_check(read(client, text, 16) == 0 && fails(write(client, "x", 1), EPIPE), "it is open");
    close(client);
    client = socket(family, SOCK_STREAM, 0);
    reweave_check(fails(connect(client, (void *)&address, length), ECONNREFUSED), "it listens still");
    close(client);
}

/* What of TCP is not as of Unix sockets. */
static void transmission(void) {
    struct sockaddr_storage address;
    socklen_t length = place(AF_INET, &address);
    int server = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    reweave_check(bind(server, (void *)&address, length) == 0 && listen(server, 0) == 0, "it does not listen");
    reweave_check(getsockname(server, (void *)&address, &length) == 0, "it has no name");
    reweave_check(((struct sockaddr_in *)&address)->sin_port != 0, "no port is chosen");
    int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    reweave_check(setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "it has no options");
    reweave_check(fails(connect(client, (void *)&address, length), EINPROGRESS), "it is done at once");
    reweave_check(event(client, POLLOUT) == POLLOUT && option(client, SO_ERROR) == 0, "it is not connected");
    reweave_check(connect(client, (void *)&address, length) == 0, "it is not connected");
    reweave_check(fails(connect(client, (void *)&address, length), EISCONN), "it is not connected");
    int taken = accept(server, NULL, NULL);
    /* The first that is sent to a side that is gone is lost. */
    close(client);
    reweave_check(read(taken, text, 16) == 0 && write(taken, "lost", 4) == 4, "it is known to be gone");
    reweave_check(event(taken, POLLOUT) == (POLLOUT | POLLERR | POLLHUP), "there is no error");
    reweave_check(fails(write(taken, "x", 1), EPIPE) && fails(shutdown(taken, SHUT_WR), ENOTCONN), "it is open");
    close(taken);
    /* Something unread resets the connection. */
    client = socket(AF_INET, SOCK_STREAM, 0);
    reweave_check(connect(client, (void *)&address, length) == 0, "it is refused");
    taken = accept(server, NULL, NULL);
    reweave_check(write(client, "abc", 3) == 3 && close(taken) == 0, "nothing is sent");
    reweave_check(event(client, POLLIN) == (POLLIN | POLLERR | POLLHUP), "there is no error");
    reweave_check(fails(write(client, "x", 1), ECONNRESET) && fails(write(client, "x", 1), EPIPE), "it is open");
    reweave_check(read(client, text, 16) == 0, "there is another error");
    close(client);
    close(server);
    client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    reweave_check(fails(connect(client, (void *)&address, length), EINPROGRESS), "it is done at once");
    reweave_check(event(client, POLLOUT) == (POLLOUT | POLLERR | POLLHUP), "it is connected");
    reweave_check(option(client, SO_ERROR) == ECONNREFUSED && option(client, SO_ERROR) == 0, "it is not refused");
    close(client);
}

/* Names that are no ports. */
static void names(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 4;
    memcpy(address.sun_path, "\0abc", 4);
    int server = socket(AF_UNIX, SOCK_SEQPACKET, 0), other = socket(AF_UNIX, SOCK_STREAM, 0);
    reweave_check(bind(server, (void *)&address, length) == 0, "it is not bound");
    reweave_check(listen(server, 1) == 0 && fails(connect(other, (void *)&address, length), ECONNREFUSED), "it is the same kind");
    reweave_check(bind(other, (void *)&address, length) == 0, "the name is that of another kind");
    close(other);
    other = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    int more = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0), most = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    reweave_check(connect(other, (void *)&address, length) == 0 && connect(more, (void *)&address, length) == 0, "it is refused");
    reweave_check(fails(connect(most, (void *)&address, length), EAGAIN), "the backlog is longer");
    int taken = accept(server, NULL, NULL);
    reweave_check(send(other, "ab", 2, 0) == 2 && send(other, "c", 1, 0) == 1 && recv(taken, text, 16, 0) == 2, "no messages");
    close(server);
    server = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    reweave_check(bind(server, (void *)&address, length) == 0, "the name is not free again");
    struct sockaddr_storage file;
    length = place(AF_UNIX, &file);
    struct stat stat;
    reweave_check(lstat("listen-answers.socket", &stat) == 0 && S_ISSOCK(stat.st_mode), "there is no file");
    reweave_check(fails(bind(more, (void *)&file, length), EADDRINUSE), "the file is gone");
    reweave_check(unlink("listen-answers.socket") == 0, "it cannot be removed");
    reweave_check(fails(connect(most, (void *)&file, length), ENOENT), "the file is there");
    close(server);
}

int main(void) {
    unconnected(AF_INET);
    unconnected(AF_UNIX);
    unlink("listen-answers.socket");
    connection(AF_INET);
    connection(AF_UNIX);
    transmission();
    names();
    reweave_check(fails(listen(98, 1), EBADF), "it is open");
}
