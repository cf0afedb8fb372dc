// A server stops listening as soon as it has an order to stop. A client that is connected by then may not be accepted yet.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <reweave.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address;

static void *client(void *order) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char answer = 0;
    if (connect(fd, (void *)&address, sizeof address) == 0) {
        send(fd, order, 1, 0);
        ssize_t got = recv(fd, &answer, 1, 0);
        reweave_check(got == 1 && answer == '!', "the connection is lost"); // <- here
    }
    close(fd);
    return NULL;
}

static int serve(int server) {
    char order = 0;
    int fd = accept(server, NULL, NULL);
    recv(fd, &order, 1, 0);
    send(fd, "!", 1, 0);
    close(fd);
    return order == 'q';
}

int main(void) {
    pthread_t threads[2];
    int server = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    bind(server, (void *)&address, length);
    getsockname(server, (void *)&address, &length);
    listen(server, 4);
    pthread_create(&threads[0], NULL, client, "x");
    pthread_create(&threads[1], NULL, client, "q");
#ifdef FIXED
    serve(server);
    serve(server);
#else
    while (!serve(server)) {
    }
#endif
    close(server);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}
