// A race that a library function makes: memcpy reads a structure while another thread writes one of its fields.
#include <pthread.h>
#include <stddef.h>
#include <string.h>

struct record {
    int fields[16];
};

static struct record shared, copy;

static void *change(void *arg) {
    (void)arg;
    shared.fields[11] = 1; // <-
    return NULL;
}

static void *save(void *arg) {
    (void)arg;
    memcpy(&copy, &shared, sizeof copy); // <- reads all of them
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, change, NULL);
    pthread_create(&b, NULL, save, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return copy.fields[0];
}
