// Tasks and what comes of them: at once, later, as an exception, for several.
#include <cassert>
#include <chrono>
#include <future>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;

static void tasks() {
    auto early = std::async(std::launch::async, [] { return 3; });
    auto late = std::async(std::launch::deferred, [] { return 4; });
    assert(late.wait_for(0s) == std::future_status::deferred);
    assert(early.get() + late.get() == 7);
}

static void exception() {
    std::packaged_task<int()> task([]() -> int { throw 5; });
    auto result = task.get_future();
    std::thread thread(std::move(task));
    try {
        result.get();
        assert(false);
    } catch (int thrown) {
        assert(thrown == 5);
    }
    thread.join();
}

static void timed() {
    std::shared_timed_mutex mutex;
    mutex.lock_shared();
    std::thread other([&] {
        assert(!mutex.try_lock_for(1ms));
        assert(mutex.try_lock_shared_for(1ms));
        mutex.unlock_shared();
    });
    other.join();
    mutex.unlock_shared();
}

int main() {
    tasks();
    exception();
    timed();
    return 0;
}
