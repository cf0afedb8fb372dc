// Waiting on an atomic variable, and notify_one for two that wait.
#include <atomic>
#include <thread>

static std::atomic<int> opened;

static void pass() {
    opened.wait(0); // <- the other was told
}

int main() {
    std::thread a(pass), b(pass);
    opened = 1;
    opened.notify_one();
    a.join(); // <-
    b.join(); // <-
}
