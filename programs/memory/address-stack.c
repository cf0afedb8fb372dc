// Treiber's stack with nodes that are freed at once. One thread is about to pop a and make b the top; the other pops a and b, frees both
// and pushes a node at the address of a: b, which is freed, becomes the top.
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    struct node *next;
    atomic_int popped;
};

static _Atomic(struct node *) top;
struct node *popped[3];

static void push(void) {
    struct node *node = malloc(sizeof *node);
    node->popped = 0;
    node->next = top;
    while (!atomic_compare_exchange_strong(&top, &node->next, node)) {
    }
}

static struct node *pop(void) {
    struct node *node = top;
    while (node) {
        struct node *next = node->next; // <- memory
        if (atomic_compare_exchange_strong(&top, &node, next))
            break;
    }
    return node;
}

static void *pop_one(void *unused) {
    popped[0] = pop();
    return unused;
}

static void *pop_two_push_one(void *unused) {
    struct node *a = popped[1] = pop(), *b = popped[2] = pop();
    if (a && b) {
        b->popped = 1;
        free(a); // <- memory
        push();
    }
    return unused;
}

int main(void) {
    push();
    push();
    pthread_t one, two;
    pthread_create(&one, 0, pop_one, 0);
    pthread_create(&two, 0, pop_two_push_one, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    struct node *left = top;
    reweave_check(!left || !left->popped, "popped, and in the stack"); // <- assertion
}
