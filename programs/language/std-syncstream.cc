// Two threads write whole lines.
#include <iostream>
#include <syncstream>
#include <thread>

int main() {
    std::thread thread([] { std::osyncstream(std::cout) << "one " << 1 << '\n'; });
    std::osyncstream(std::cout) << "two " << 2 << '\n';
    thread.join();
    return 0;
}
