// std-atomic-wait.cc put right: notify_all.
#include <atomic>
#include <thread>

static std::atomic<int> opened;

static void pass() {
    opened.wait(0);
}

int main() {
    std::thread a(pass), b(pass);
    opened = 1;
    opened.notify_all();
    a.join();
    b.join();
}
