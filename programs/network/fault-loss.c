/* A datagram of UDP from a thread to itself. It may get lost: then nobody ends a wait for it. With TRIES the thread only looks. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef TRIES
#define FLAGS MSG_DONTWAIT
#else
#define FLAGS 0
#endif

int main(void) {
    struct sockaddr_in to = {.sin_family = AF_INET};
    socklen_t length = sizeof to;
    char byte = 0;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int own = socket(AF_INET, SOCK_DGRAM, 0);
    assert(bind(own, (struct sockaddr *)&to, sizeof to) == 0);
    assert(getsockname(own, (struct sockaddr *)&to, &length) == 0);
    assert(sendto(own, "a", 1, 0, (struct sockaddr *)&to, sizeof to) == 1);
    ssize_t got = recv(own, &byte, 1, FLAGS); /* <- */
    assert(got == 1 ? byte == 'a' : got == -1 && errno == EAGAIN);
    close(own);
    return 0;
}
