// A client sends its request and waits for the answer of a server that reads to the end.
#include <pthread.h>
#include <reweave.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];

static void *server(void *unused) {
    char text[8];
    int sum = 0;
    for (ssize_t got; (got = read(ends[1], text, sizeof text)) > 0;) // <- the client never ends
        sum += got;
    send(ends[1], &sum, sizeof sum, 0);
    return unused;
}

int main(void) {
    pthread_t thread;
    int sum = 0;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    pthread_create(&thread, NULL, server, NULL);
    send(ends[0], "abc", 3, 0);
#ifdef FIXED
    shutdown(ends[0], SHUT_WR);
#endif
    recv(ends[0], &sum, sizeof sum, 0); // <- the server waits for the end
    reweave_check(sum == 3, "it has not read all");
    pthread_join(thread, NULL);
}
