// A thread waits for a flag with std::condition_variable: for ever, or (TIMED) for a while.
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#ifndef TIMED
#define TIMED 0
#endif

static std::mutex lock;
static std::condition_variable changed;
static bool ready;

int main() {
    std::thread waiter([] {
        std::unique_lock guard(lock);
        if (TIMED)
            changed.wait_for(guard, std::chrono::seconds(1), [] { return ready; });
        else
            changed.wait(guard, [] { return ready; });
        assert(ready || TIMED);
    });
    {
        std::lock_guard guard(lock);
        ready = true;
    }
    changed.notify_one();
    waiter.join();
}
