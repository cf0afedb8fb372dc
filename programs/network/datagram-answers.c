// What the calls on sockets of datagrams return, as they do without the checker.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <reweave.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define fails(call, error) (errno = 0, (call) == -1 && errno == (error))

static char text[16];

static int readable(int fd) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, 0) == 1 && one.revents == POLLIN;
}

static void internet(void) {
    struct sockaddr_in server = {.sin_family = AF_INET}, client, seen;
    socklen_t length = sizeof server;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    client = server;
    int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0), other = socket(AF_INET, SOCK_DGRAM, 0);
    reweave_check(bind(in, (void *)&server, length) == 0, "it is not bound");
    reweave_check(getsockname(in, (void *)&server, &length) == 0 && server.sin_port != 0, "it has no port");
    reweave_check(fails(bind(out, (void *)&server, length), EADDRINUSE), "the port is free");
    reweave_check(fails(send(other, "x", 1, 0), EDESTADDRREQ), "it is sent to nobody");
    reweave_check(fails(listen(in, 1), EOPNOTSUPP), "it listens");
    reweave_check(!readable(in) && fails(recv(in, text, 16, MSG_DONTWAIT), EAGAIN), "there is something");
    reweave_check(bind(out, (void *)&client, length) == 0, "it is not bound");
    reweave_check(sendto(out, "abc", 3, 0, (void *)&server, length) == 3, "it is not sent");
    reweave_check(sendto(out, "", 0, 0, (void *)&server, length) == 0 && readable(in), "it is not sent");
    length = sizeof seen;
    reweave_check(recvfrom(in, text, 2, MSG_TRUNC, (void *)&seen, &length) == 3 && length == 16, "it is not cut");
    getsockname(out, (void *)&client, &length);
    reweave_check(seen.sin_port == client.sin_port && seen.sin_addr.s_addr == client.sin_addr.s_addr, "another one has sent it");
    reweave_check(recv(in, text, 16, 0) == 0 && !readable(in), "it is not empty");
    /* The answer goes to one that takes messages from there alone. */
    reweave_check(fails(getpeername(out, (void *)&seen, &length), ENOTCONN), "it is connected");
    reweave_check(connect(out, (void *)&server, length) == 0 && send(out, "d", 1, 0) == 1, "it is not connected");
    reweave_check(getpeername(out, (void *)&seen, &length) == 0 && seen.sin_port == server.sin_port, "it is not connected");
    reweave_check(sendto(other, "e", 1, 0, (void *)&client, length) == 1 && !readable(out), "it takes all");
    reweave_check(sendto(in, "f", 1, 0, (void *)&client, length) == 1 && read(out, text, 16) == 1 && text[0] == 'f', "it takes nothing");
    struct iovec block = {text, 16};
    struct msghdr message = {.msg_name = &seen, .msg_namelen = sizeof seen, .msg_iov = &block, .msg_iovlen = 1};
    reweave_check(recvmsg(in, &message, 0) == 1 && message.msg_namelen == 16 && seen.sin_port == client.sin_port, "it is lost");
    close(in);
    reweave_check(sendto(other, "lost", 4, 0, (void *)&server, length) == 4, "it is not lost");
    close(out);
    close(other);
}

static void local(void) {
    struct sockaddr_un server = {.sun_family = AF_UNIX, .sun_path = "\0d"}, client = {.sun_family = AF_UNIX, .sun_path = "\0e"}, seen;
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 2, got = sizeof seen;
    int in = socket(AF_UNIX, SOCK_DGRAM, 0), out = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0), count = 0;
    reweave_check(fails(sendto(out, "x", 1, 0, (void *)&server, length), ECONNREFUSED), "it is bound");
    reweave_check(bind(in, (void *)&server, length) == 0, "it is not bound");
    reweave_check(fails(send(out, "x", 1, 0), ENOTCONN), "it is connected");
    reweave_check(sendto(out, "x", 1, 0, (void *)&server, length) == 1, "it is not sent");
    reweave_check(recvfrom(in, text, 16, 0, (void *)&seen, &got) == 1 && got == 0, "it has a name");
    reweave_check(bind(out, (void *)&client, length) == 0 && connect(out, (void *)&server, length) == 0, "it is not connected");
    while (send(out, "ab", 2, 0) == 2)
        count++;
    reweave_check(errno == EAGAIN && count > 0, "there is room for all");
    got = sizeof seen;
    reweave_check(recvfrom(in, text, 16, 0, (void *)&seen, &got) == 2 && got == length, "it has no name");
    reweave_check(seen.sun_path[1] == 'e' && send(out, "c", 1, 0) == 1, "there is no room");
    int third = socket(AF_UNIX, SOCK_DGRAM, 0);
    reweave_check(fails(sendto(third, "x", 1, 0, (void *)&client, length), EPERM), "it takes all");
    close(in);
    reweave_check(fails(send(out, "x", 1, 0), ECONNREFUSED), "it is open");
    close(out);
    close(third);
}

int main(void) {
    internet();
    local();
}
