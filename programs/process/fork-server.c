/* A child serves its parent by a socket. With EARLY the parent does not know whether the child listens yet. */
#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "fork-server.socket"};

static int listening(void) {
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    assert(bind(server, (void *)&address, sizeof address) == 0 && listen(server, 1) == 0);
    return server;
}

static int serve(int server) {
    char text[8];
    int client = accept(server, NULL, NULL);
    ssize_t got = read(client, text, sizeof text);
    return got <= 0 || write(client, text, got) != got;
}

int main(void) {
    unlink(address.sun_path);
#ifndef EARLY
    int server = listening();
#endif
    pid_t child = fork();
    if (child == 0) {
#ifdef EARLY
        int server = listening();
#endif
        _exit(serve(server));
    }
    int client = socket(AF_UNIX, SOCK_STREAM, 0), status;
    char text[8];
    assert(connect(client, (void *)&address, sizeof address) == 0); /* <- refused */
    assert(write(client, "hello", 5) == 5);
    assert(read(client, text, sizeof text) == 5 && !memcmp(text, "hello", 5));
    assert(waitpid(child, &status, 0) == child && status == 0);
    assert(read(client, text, sizeof text) == 0);
    return 0;
}
