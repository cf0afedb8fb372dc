// Two messages come, and the edge may be one. Who takes one message for each edge waits for ever.
#include <pthread.h>
#include <reweave.h>
#include <sys/epoll.h>
#include <unistd.h>

#ifndef HOW
#define HOW EPOLLET
#endif

static int ends[2];

static void *source(void *unused) {
    write(ends[1], "a", 1);
    write(ends[1], "b", 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    struct epoll_event event = {.events = EPOLLIN | HOW};
    char text[2];
    int epfd = epoll_create1(0), got = 0;
    pipe(ends);
    epoll_ctl(epfd, EPOLL_CTL_ADD, ends[0], &event);
    pthread_create(&thread, NULL, source, NULL);
    while (got < 2) {
        reweave_check(epoll_wait(epfd, &event, 1, -1) == 1, "nothing is ready"); // <- the second message is there
        got += read(ends[0], text, 1);
    }
    pthread_join(thread, NULL);
}
