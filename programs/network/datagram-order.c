// Two clients ask a server, which answers the one that has asked first. One of them believes that this is always itself.
#include <pthread.h>
#include <reweave.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un server = {.sun_family = AF_UNIX, .sun_path = "\0s"};
static const socklen_t length = offsetof(struct sockaddr_un, sun_path) + 2;

static void *client(void *name) {
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    char turn = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    own.sun_path[1] = *(char *)name;
    bind(fd, (void *)&own, length);
    sendto(fd, "?", 1, 0, (void *)&server, length);
    recv(fd, &turn, 1, 0);
#ifdef FIXED
    reweave_check(turn == 1 || turn == 2, "it has another turn");
#else
    reweave_check(turn == *(char *)name - 'a' + 1, "the other one was first"); // <- here
#endif
    close(fd);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    bind(fd, (void *)&server, length);
    pthread_create(&threads[0], NULL, client, "a");
    pthread_create(&threads[1], NULL, client, "b");
    for (char turn = 1; turn <= 2; turn++) {
        struct sockaddr_un from;
        socklen_t size = sizeof from;
        char text;
        recvfrom(fd, &text, 1, 0, (void *)&from, &size);
        sendto(fd, &turn, 1, 0, (void *)&from, size);
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}
