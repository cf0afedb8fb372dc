// Atomics of sizes that no processor has instructions for: three words, three bytes, and a plain object for a while.
#include <atomic>
#include <cassert>
#include <thread>

struct Words {
    long a, b, c;
};

struct Bytes {
    char a, b, c;
};

static std::atomic<Words> words{};
static std::atomic<Bytes> bytes{};
static Words plain{};

int main() {
    std::thread writer([] {
        words.store({-1, -1, -1});
        bytes.store({1, 1, 1});
        std::atomic_ref(plain).store({7, 7, 7}); // <-
    });
    Words seen = words.load();
    assert(seen.a == seen.b && seen.b == seen.c);
#ifdef WRONG
    plain.b = 1; // <-
#endif
    writer.join();
    Bytes three{1, 1, 1}, four{4, 4, 4};
    assert(bytes.compare_exchange_strong(three, four) && !bytes.compare_exchange_strong(three, four));
    assert(three.b == 4 && bytes.exchange({5, 5, 5}).c == 4 && bytes.load().a == 5);
    assert(words.load().c == -1 && (plain.a == 7 || plain.b == 1));
}
