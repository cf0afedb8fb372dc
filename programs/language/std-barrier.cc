// std::barrier: two threads meet, and one of them completes the phase.
#include <barrier>
#include <cassert>
#include <thread>

static int parts[2], phases;

int main() {
    std::barrier meet(2, []() noexcept { phases++; });
    auto body = [&](int self) {
        parts[self] = 1;
        meet.arrive_and_wait();
        assert(parts[0] == 1 && parts[1] == 1 && phases == 1);
    };
    std::thread one(body, 0), two(body, 1);
    one.join();
    two.join();
}
