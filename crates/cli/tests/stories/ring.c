/* Two neighbours of a ring lock each other's nodes. Only registers lead to the nodes. */
#include <pthread.h>
#include <stdlib.h>

struct node {
    int key;
    pthread_mutex_t lock;
};

struct pair {
    struct node *own, *other;
};

static struct node *node_new(int key) {
    struct node *node = malloc(sizeof *node);
    node->key = key;
    pthread_mutex_init(&node->lock, NULL);
    return node;
}

static void node_lock(struct node *node) { pthread_mutex_lock(&node->lock); }
static void node_unlock(struct node *node) { pthread_mutex_unlock(&node->lock); }

static void *swap(void *arg) {
    struct node *own = ((struct pair *)arg)->own, *other = ((struct pair *)arg)->other;
    free(arg);
    node_lock(own);
    node_lock(other);
    int key = own->key;
    own->key = other->key;
    other->key = key;
    node_unlock(other);
    node_unlock(own);
    return NULL;
}

static pthread_t start(struct node *own, struct node *other) {
    pthread_t thread;
    struct pair *pair = malloc(sizeof *pair);
    pair->own = own;
    pair->other = other;
    pthread_create(&thread, NULL, swap, pair);
    return thread;
}

int main(void) {
    struct node *first = node_new(1), *second = node_new(2);
    pthread_t left = start(first, second), right = start(second, first);
    pthread_join(left, NULL);
    pthread_join(right, NULL);
    free(first);
    free(second);
    return 0;
}
