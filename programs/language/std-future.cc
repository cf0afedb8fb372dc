// std::promise, std::async and std::packaged_task: a value or an exception gets from one thread to another.
#include <cassert>
#include <future>
#include <stdexcept>
#include <thread>

#ifndef KIND
#define KIND 0
#endif

int main() {
#if KIND == 0
    std::promise<int> promise;
    std::thread giver([&] { promise.set_value(7); });
    assert(promise.get_future().get() == 7);
    giver.join();
#elif KIND == 1
    auto answer = std::async(std::launch::async, [] { return 7; });
    assert(answer.get() == 7);
#elif KIND == 2
    std::packaged_task<int()> task([]() -> int { throw std::runtime_error("no"); });
    auto answer = task.get_future();
    std::thread giver(std::move(task));
    try {
        answer.get();
        assert(false);
    } catch (const std::runtime_error &) {
    }
    giver.join();
#elif KIND == 3
    std::promise<int> promise;
    auto answer = promise.get_future();
    std::thread giver([&] { promise.set_value(7); });
    auto status = answer.wait_for(std::chrono::seconds(1));
    assert(status == std::future_status::ready || status == std::future_status::timeout);
    assert(answer.get() == 7);
    giver.join();
#endif
}
