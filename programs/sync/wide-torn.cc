// Sixteen bytes that are read at once are never half old and half new.
#include <atomic>
#include <cassert>
#include <thread>

struct Pair {
    long first = 0, second = 0;
};

static std::atomic<Pair> pair;

int main() {
    std::thread writer([] {
        pair.store({1L << 40, 1});
        pair.store({1L << 41, 2});
    });
    Pair seen = pair.load();
    assert(seen.first == seen.second << 40 || (seen.first == 1L << 41 && seen.second == 2));
    writer.join();
    Pair old = pair.exchange({7, 7});
    assert(old.second == 2);
    assert(!pair.compare_exchange_strong(old, {8, 8}) && old.first == 7);
}
