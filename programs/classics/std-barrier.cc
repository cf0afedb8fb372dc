// std::barrier with a completion step that runs once a phase, when all have arrived and before any goes on.
#include <barrier>
#include <cassert>
#include <thread>

#ifndef PHASES
#define PHASES 1
#endif

int main() {
    int parts[2] = {0, 0}, sum = 0;
    auto add_up = [&]() noexcept { sum = parts[0] + parts[1]; };
    std::barrier barrier(2, add_up);
    auto work = [&](int self) {
        for (int phase = 1; phase <= PHASES; phase++) {
            parts[self] = phase;
            barrier.arrive_and_wait();
            assert(sum == 2 * phase);
        }
    };
    std::thread a(work, 0), b(work, 1);
    a.join();
    b.join();
}
