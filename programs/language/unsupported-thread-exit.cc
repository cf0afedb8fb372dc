// A value that is there when its thread has ended. The C++ library sees to that by an atomic operation of its own, which has no hook: who waits would
// seem to race with who sets.
#include <future>
#include <thread>

int main() {
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread setter([&] { promise.set_value_at_thread_exit(5); });
    int value = future.get();
    setter.join();
    return value - 5;
}
