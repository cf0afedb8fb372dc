// One exception, looked at by two threads; the last one to let go of it destroys it.
#include <exception>
#include <reweave.h>
#include <stdexcept>
#include <string>
#include <thread>

static void look(std::exception_ptr pointer) {
    try {
        std::rethrow_exception(pointer);
    } catch (const std::runtime_error &error) {
        reweave_check(error.what() == std::string("text"), "another text");
    }
}

int main() {
    std::exception_ptr pointer;
    try {
        throw std::runtime_error("text");
    } catch (...) {
        pointer = std::current_exception();
    }
    std::thread thread([pointer] { look(pointer); });
    pointer = nullptr;
    thread.join();
}
