// A spin lock of one's own around static variables that nothing else in the file changes: compilers must not keep their values while other threads run.
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic_flag locked = ATOMIC_FLAG_INIT;
static int count;

static __attribute__((noinline)) void acquire() {
    while (locked.test_and_set(std::memory_order_acquire)) {
    }
}

static __attribute__((noinline)) void release() { locked.clear(std::memory_order_release); }

static void add() {
    acquire();
    int before = count;
    count = before + 1;
    release();
    acquire();
    count++;
    release();
}

int main() {
    std::thread first(add), second(add);
    first.join();
    second.join();
    assert(count == 4);
}
