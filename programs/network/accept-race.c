// Two threads wait for connections of one listening socket, until one of them has served the only one. Both may see the one that comes, but one of them gets it.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <reweave.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int server, over[2];

static void *worker(void *served) {
    struct pollfd seen[2] = {{.fd = server, .events = POLLIN}, {.fd = over[0], .events = POLLIN}};
    while (poll(seen, 2, -1) > 0 && !(seen[1].revents & POLLIN)) {
        int taken = accept(server, NULL, NULL); // <- the other one has taken it
        if (taken < 0)
            continue;
        *(int *)served = 1;
        close(taken);
        write(over[1], "!", 1);
    }
    return NULL;
}

int main(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0a"};
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 2;
    pthread_t threads[2];
    int served[2] = {0};
    server = socket(AF_UNIX, SOCK_STREAM, 0);
#ifdef FIXED
    fcntl(server, F_SETFL, O_NONBLOCK);
#endif
    bind(server, (void *)&address, length);
    listen(server, 4);
    pipe(over);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, &served[i]);
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    reweave_check(connect(client, (void *)&address, length) == 0, "it is refused");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL); // <- it waits for ever
    reweave_check(served[0] + served[1] == 1, "it is served otherwise");
}
