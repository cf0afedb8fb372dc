// As address-returns.c, by new and delete.
#include <atomic>
#include <reweave.h>
#include <thread>

struct Block {
    long words[3];
};

static std::atomic<Block *> slot;
static std::atomic<bool> replaced;

static void replace() {
    if (Block *old = slot.exchange(nullptr)) {
        delete old;
        replaced = true;
        slot = new Block;
    }
}

static void take() {
    Block *seen = slot;
    bool before = replaced;
    Block *expected = seen;
    if (seen && slot.compare_exchange_strong(expected, nullptr)) {
        reweave_check(replaced == before, "took another block than it saw"); // <- assertion
        delete seen;
    }
}

int main() {
    slot = new Block;
    std::thread one(replace), two(take);
    one.join();
    two.join();
    delete slot;
}
