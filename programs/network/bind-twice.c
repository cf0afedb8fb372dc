// Two threads start the server if there is none yet. The look and the start are not one.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <sys/socket.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int started;

static void start(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(18473)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int server = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int bound = bind(server, (void *)&address, sizeof address);
    reweave_check(bound == 0 && listen(server, 1) == 0, "the port is taken"); // <- here
    started = 1;
}

static void *user(void *unused) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    if (!started)
        start();
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    (void)lock;
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, user, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
