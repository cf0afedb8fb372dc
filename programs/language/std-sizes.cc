// Atomics of every size that one can wait for, one after the other at one place, and references to what is none.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <thread>

template <class T> static void wait_for_one() {
    std::atomic<T> cell{0};
    std::thread setter([&] {
        cell.store(1);
        cell.notify_one();
    });
    cell.wait(0);
    assert(cell.load() == 1);
    setter.join();
}

static void reference() {
    int number = 0;
    std::thread adder([&] { std::atomic_ref(number)++; });
    std::atomic_ref(number)++;
    adder.join();
    assert(number == 2);
}

int main() {
    wait_for_one<std::uint8_t>();
    wait_for_one<std::int16_t>();
    wait_for_one<int>();
    wait_for_one<std::uint64_t>();
    reference();
    return 0;
}
