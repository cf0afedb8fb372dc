// std::thread and std::mutex: captures by reference, arguments, moves of a thread, a lock by guard.
#include <cassert>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#ifndef N
#define N 2
#endif

int main() {
    std::mutex mutex;
    std::vector<int> seen;
    auto add = [&](int value) {
        std::lock_guard guard(mutex);
        seen.push_back(value);
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < N; i++)
        threads.emplace_back(add, i);
    std::thread moved = std::move(threads.back());
    threads.pop_back();
    moved.join();
    for (auto &thread : threads)
        thread.join();
    assert(seen.size() == N);
}
