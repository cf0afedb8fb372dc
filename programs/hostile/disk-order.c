/* Whether a file is there is what threads can see of each other: each order of making and looking is explored. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *makes(void *unused) {
    (void)unused;
    int file = open("made.tmp", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert(file >= 0);
    assert(close(file) == 0);
    return NULL;
}

static void *looks(void *unused) {
    (void)unused;
    assert(access("made.tmp", F_OK) != 0); /* <- may be there already */
    return NULL;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, makes, NULL);
    pthread_create(&other, NULL, looks, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return unlink("made.tmp");
}
