// A thread waits for one of two pipes, each written by another thread.
#include <poll.h>
#include <pthread.h>
#include <reweave.h>
#include <unistd.h>

static int ends[2][2];

static void *writer(void *ends) {
    write(((int *)ends)[1], "x", 1);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    char text;
    for (int i = 0; i < 2; i++) {
        pipe(ends[i]);
        pthread_create(&threads[i], NULL, writer, ends[i]);
    }
    struct pollfd list[] = {{ends[0][0], POLLIN, 0}, {ends[1][0], POLLIN, 0}};
    int ready = poll(list, 2, -1);
#ifdef FIRST
    reweave_check(list[0].revents, "the second one was faster"); // <-
#elif defined ONE
    reweave_check(ready == 1, "both were faster"); // <-
#elif defined BLIND
    read(ends[0][0], &text, 1);
    read(ends[0][0], &text, 1); // <- only one comes
#endif
    reweave_check(ready == (list[0].revents != 0) + (list[1].revents != 0), "something else is ready");
    for (int i = 0; i < 2; i++)
        if (list[i].revents)
            reweave_check(read(ends[i][0], &text, 1) == 1, "there is nothing");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}
