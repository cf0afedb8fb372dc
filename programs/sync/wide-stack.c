// A stack whose head is a pointer and a count of changes, both changed at once. Without the count a node that was away and came back is taken for one that
// never left (ABA), and with it comes a successor that belongs to somebody else by now.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef COUNT
#define COUNT 1
#endif

struct node {
    struct node *_Atomic next;
};

struct head {
    _Alignas(16) struct node *first;
    uintptr_t count;
};

static _Atomic struct head head;
static struct node nodes[2];

static void push(struct node *node) {
    struct head old = atomic_load(&head), new;
    do {
        atomic_store(&node->next, old.first);
        new = (struct head){node, old.count + COUNT};
    } while (!atomic_compare_exchange_strong(&head, &old, new));
}

static struct node *pop(void) {
    struct head old = atomic_load(&head), new;
    do {
        if (!old.first)
            return 0;
        new = (struct head){atomic_load(&old.first->next), old.count + COUNT};
    } while (!atomic_compare_exchange_strong(&head, &old, new));
    return old.first;
}

static void *other(void *result) {
    *(struct node **)result = pop();
    return 0;
}

int main(void) {
    struct node *theirs = 0;
    push(&nodes[1]);
    push(&nodes[0]);
    pthread_t thread;
    pthread_create(&thread, 0, other, &theirs);
    struct node *mine = pop(), *kept = pop();
    if (mine)
        push(mine);
    pthread_join(thread, 0);
    assert(!kept || kept != theirs);
    for (struct node *node; (node = pop());)
        assert(node != kept && node != theirs); // <-
}
