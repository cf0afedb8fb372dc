// A wait for a millisecond, and one for a microsecond: each may be woken in time.
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#ifndef LIMIT
#define LIMIT std::chrono::milliseconds(1)
#endif

int main() {
    std::mutex lock;
    std::condition_variable changed;
    auto status = std::cv_status::timeout;
    std::thread waiter([&] {
        std::unique_lock guard(lock);
        status = changed.wait_for(guard, LIMIT);
    });
    {
        std::lock_guard guard(lock);
        changed.notify_one();
    }
    waiter.join();
    assert(status == std::cv_status::timeout); // <- woken in time
}
