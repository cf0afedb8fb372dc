// A promise that is broken in one order: who should keep it goes home, and the one who waits gets an exception that it does not expect.
#include <atomic>
#include <future>
#include <thread>

static std::atomic<bool> asked;

int main() {
    std::promise<int> promise;
    std::future<int> answer = promise.get_future();
    std::thread worker([promise = std::move(promise)]() mutable {
        if (asked)
            promise.set_value(42);
    });
    asked = true;
    answer.get(); // the broken promise
    worker.join();
}
