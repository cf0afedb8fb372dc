// Promise, future, packaged_task and async: values and exceptions arrive where they are waited for.
#include <cassert>
#include <future>
#include <stdexcept>
#include <thread>

int main() {
    std::promise<int> promise;
    std::future<int> answer = promise.get_future();
    std::thread worker([promise = std::move(promise)]() mutable { promise.set_value(42); });
    std::packaged_task<int(int)> twice([](int value) { return 2 * value; });
    std::future<int> doubled = twice.get_future();
    std::thread task(std::move(twice), 21);
    std::future<void> failure = std::async(std::launch::async, [] { throw std::runtime_error("expected"); });
    assert(answer.get() == 42);
    assert(doubled.get() == 42);
    bool caught = false;
    try {
        failure.get();
    } catch (const std::runtime_error &) {
        caught = true;
    }
    assert(caught);
    worker.join();
    task.join();
}
