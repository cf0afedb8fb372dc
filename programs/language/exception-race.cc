// One exception, changed by two threads.
#include <exception>
#include <thread>

struct Counted {
    int looks = 0;
};

static void look(const std::exception_ptr &pointer) {
    try {
        std::rethrow_exception(pointer);
    } catch (Counted &counted) {
        counted.looks++; // <-
    }
}

int main() {
    const std::exception_ptr pointer = std::make_exception_ptr(Counted());
    std::thread thread([&pointer] { look(pointer); });
    look(pointer);
    thread.join();
}
