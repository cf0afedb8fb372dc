// Two workers take requests from one epoll. What is reported once is one worker's until it is armed again.
#include <pthread.h>
#include <reweave.h>
#include <sys/epoll.h>
#include <unistd.h>

#ifndef HOW
#define HOW EPOLLONESHOT
#endif

static int ends[2], epfd, served;

static void *worker(void *unused) {
    struct epoll_event event;
    char text;
    epoll_wait(epfd, &event, 1, -1);
    if (read(ends[0], &text, 1) == 1)
        served++; // <- two workers at once
    event = (struct epoll_event){.events = EPOLLIN | HOW};
    epoll_ctl(epfd, EPOLL_CTL_MOD, ends[0], &event);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    struct epoll_event event = {.events = EPOLLIN | HOW};
    epfd = epoll_create1(0);
    pipe(ends);
    epoll_ctl(epfd, EPOLL_CTL_ADD, ends[0], &event);
    write(ends[1], "a", 1);
    write(ends[1], "b", 1);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    reweave_check(served == 2, "a request is lost");
}
