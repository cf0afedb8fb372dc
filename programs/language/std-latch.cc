// std::latch: two threads count down, the main thread waits.
#include <cassert>
#include <latch>
#include <thread>

static int parts[2];

int main() {
    std::latch done(2);
    std::thread one([&] {
        parts[0] = 1;
        done.count_down();
    });
    std::thread two([&] {
        parts[1] = 1;
        done.count_down();
    });
    done.wait();
    assert(parts[0] == 1 && parts[1] == 1);
    one.join();
    two.join();
}
