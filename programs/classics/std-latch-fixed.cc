// std-latch.cc put right: main goes on when both have arrived, and sees what they did before.
#include <cassert>
#include <latch>
#include <thread>

int main() {
    std::latch arrived(2);
    int left = 0, right = 0;
    std::thread a([&] {
        left = 1;
        arrived.count_down();
    });
    std::thread b([&] {
        right = 1;
        arrived.count_down();
    });
    arrived.wait();
    assert(left + right == 2);
    a.join();
    b.join();
}
