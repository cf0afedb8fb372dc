// Datagrams of one thread arrive in order, one by one: neither thread sees how far the other one is.
#include <pthread.h>
#include <reweave.h>
#include <sys/socket.h>

static int ends[2];

static void *sender(void *unused) {
    for (char text = 'a'; text < 'd'; text++)
        send(ends[0], &text, 1, 0);
    return unused;
}

int main(void) {
    pthread_t thread;
    char text;
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    pthread_create(&thread, NULL, sender, NULL);
    for (char expected = 'a'; expected < 'd'; expected++) {
        recv(ends[1], &text, 1, 0);
        reweave_check(text == expected, "they are not in order");
    }
    pthread_join(thread, NULL);
}
