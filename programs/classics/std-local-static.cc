// A static of a function: it is constructed once, by whichever thread comes first, and the others wait for it.
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> constructed;

struct Table {
    int entries[4];
    Table() : entries{1, 2, 3, 4} { constructed++; }
};

static const Table &table() {
    static Table made;
    return made;
}

static void use() { assert(table().entries[3] == 4); }

int main() {
    std::thread a(use), b(use);
    a.join();
    b.join();
    assert(constructed == 1);
}
