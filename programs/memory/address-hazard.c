// Hazard pointers: a node is freed only if no thread has announced that it uses it. Its address may come back, and no thread mistakes it.
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    struct node *next;
    atomic_int popped;
};

static _Atomic(struct node *) top, hazard;
static struct node *left[3];

static void push(void) {
    struct node *node = malloc(sizeof *node);
    node->popped = 0;
    node->next = top;
    while (!atomic_compare_exchange_strong(&top, &node->next, node)) {
    }
}

// By the one thread that announces what it uses.
static void *pop_one(void *unused) {
    struct node *node = top;
    while (node) {
        hazard = node;
        struct node *again = top;
        if (again == node) {
            struct node *next = node->next;
            if (atomic_compare_exchange_strong(&top, &node, next)) {
                reweave_check(!atomic_exchange(&node->popped, 1), "popped twice");
                break;
            }
        } else {
            node = again;
        }
    }
    hazard = 0;
    left[0] = node;
    return unused;
}

// By the one thread that frees: what it pops, nobody else frees.
static struct node *pop(void) {
    struct node *node = top;
    while (node && !atomic_compare_exchange_strong(&top, &node, node->next)) {
    }
    if (node)
        reweave_check(!atomic_exchange(&node->popped, 1), "popped twice");
    return node;
}

static void *replace_one(void *unused) {
    struct node *node = pop();
    if (node && hazard != node) {
        free(node);
        push();
        node = 0;
    }
    left[1] = node;
    return unused;
}

int main(void) {
    push();
    pthread_t one, two;
    pthread_create(&one, 0, pop_one, 0);
    pthread_create(&two, 0, replace_one, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    free(left[0]);
    free(left[1]);
    free(top);
}
