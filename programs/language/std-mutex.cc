// The mutexes of C++: two threads add under each kind that KIND names.
#include <cassert>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

#ifndef KIND
#define KIND 0
#endif

static int count;

#if KIND == 0
static std::mutex lock;
static void add() {
    std::lock_guard guard(lock);
    count++;
}
#elif KIND == 1
static std::recursive_mutex lock;
static void add() {
    std::lock_guard guard(lock);
    std::lock_guard again(lock);
    count++;
}
#elif KIND == 2
static std::timed_mutex lock;
static void add() {
    std::unique_lock guard(lock, std::chrono::seconds(1));
    if (!guard)
        guard.lock();
    count++;
}
#elif KIND == 3
static std::mutex lock, other;
static void add() {
    // Whatever their order, they do not wait for each other.
    std::scoped_lock guard(lock, other);
    count++;
}
#elif KIND == 4
static std::shared_mutex lock;
static void add() {
    {
        std::shared_lock guard(lock);
        assert(count >= 0);
    }
    std::unique_lock guard(lock);
    count++;
}
#elif KIND == 5
static std::recursive_timed_mutex lock;
static void add() {
    std::lock_guard guard(lock);
    assert(lock.try_lock_for(std::chrono::milliseconds(1)));
    lock.unlock();
    count++;
}
#endif

int main() {
    std::thread one(add), two(add);
    one.join();
    two.join();
    assert(count == 2);
}
