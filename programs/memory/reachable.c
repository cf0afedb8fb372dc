// Memory that is never freed, but to which the program still has a way at its end: a warning, no leak. A pointer into the middle, a list,
// and a pointer in other allocated memory are ways, too.
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

struct node {
    struct node *next;
    char *middle;
};

static struct node *list;

static void *work(void *arg) {
    (void)arg;
    struct node *node = malloc(sizeof *node);
    node->middle = malloc(64);
    node->middle += 32;
    node->next = list;
    list = node;
    return NULL;
}

int main(void) {
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
