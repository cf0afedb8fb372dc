/* Addresses of the run's own network: numbers and `localhost`. A thread connects to the address that it has looked up. */
#define _GNU_SOURCE
#include <assert.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef HOST
#define HOST "localhost"
#endif

static char port[16];

static void *connects(void *unused) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *found;
    assert(getaddrinfo(HOST, port, &hints, &found) == 0);
    assert(found->ai_family == AF_INET && found->ai_next == NULL);
    int client = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    assert(connect(client, found->ai_addr, found->ai_addrlen) == 0);
    freeaddrinfo(found);
    close(client);
    return unused;
}

int main(void) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    char host[64];
    pthread_t thread;
    assert(getaddrinfo("127.0.0.1", "0", &hints, &found) == 0);
    int server = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    assert(bind(server, found->ai_addr, found->ai_addrlen) == 0 && listen(server, 1) == 0);
    freeaddrinfo(found);
    assert(getsockname(server, (struct sockaddr *)&own, &length) == 0);
    assert(getnameinfo((struct sockaddr *)&own, length, host, sizeof host, port, sizeof port,
                       NI_NUMERICHOST | NI_NUMERICSERV) == 0);
    assert(strcmp(host, "127.0.0.1") == 0 && strcmp(port, "0") != 0);
    pthread_create(&thread, NULL, connects, NULL);
    int client = accept(server, NULL, NULL);
    assert(client >= 0);
    pthread_join(thread, NULL);
    close(client);
    close(server);
    return 0;
}
