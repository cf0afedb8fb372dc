// A stack whose head comes back to an old node (ABA). Links are atomic, so that there is no race.
#include <atomic>
#include <cassert>
#include <thread>

struct Node {
    std::atomic<Node *> next{nullptr};
};

static Node nodes[3];

class Stack {
    std::atomic<Node *> head_{nullptr};

public:
    void push(Node *node) {
        Node *old = head_.load();
        do node->next.store(old);
        while (!head_.compare_exchange_strong(old, node));
    }
    Node *pop() {
        Node *old = head_.load();
        while (old && !head_.compare_exchange_strong(old, old->next.load())) {}
        return old;
    }
};

static Stack stack;

int main() {
    for (Node &node : nodes) stack.push(&node);
    std::thread popper([] { stack.pop(); });
    std::thread mixer([] {
        Node *first = stack.pop();
        stack.pop();
        if (first) stack.push(first);
    });
    popper.join();
    mixer.join();
    int left = 0;
    while (stack.pop()) left++;
    assert(left <= 1);
}
