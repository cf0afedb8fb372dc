// A wait that a request to stop ends.
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

int main() {
    std::mutex mutex;
    std::condition_variable_any condition;
    bool stopped = false;
    std::jthread thread([&](std::stop_token token) {
        std::unique_lock lock(mutex);
        assert(!condition.wait(lock, token, [] { return false; }));
        stopped = token.stop_requested();
    });
    thread.request_stop();
    thread.join();
    assert(stopped);
    return 0;
}
