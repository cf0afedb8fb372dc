// A loop that waits, whatever it calls meanwhile: none of these calls changes anything that a later round could see.
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>

static std::atomic<int> ready;
static volatile double number = 2;
static const auto name = std::make_shared<std::string>("name");
static std::map<int, std::shared_ptr<std::string>> by_number{{1, name}, {2, name}, {3, name}};
static std::unordered_map<std::string, int> by_name{{"name", 1}, {"other", 2}};

static void call() {
#if WAY == 1
    std::puts("waiting");
    std::fprintf(stderr, "still %d\n", 1);
    std::fflush(stdout);
    if (write(1, "", 0) != 0)
        std::abort();
#elif WAY == 2
    std::cout << "waiting " << 1 << std::endl;
    std::cerr << 'x';
#elif WAY == 3
    std::free(std::malloc(8));
    delete new int;
#elif WAY == 4
    if (std::sqrt(number) < 1 || std::toupper('a') != 'A' || std::getenv("HOME") == nullptr)
        errno = 0;
#elif WAY == 5
    for (auto &entry : by_number)
        if (by_name.count(*entry.second) == 0)
            std::abort();
#else
    sched_yield();
    usleep(10);
    std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(1));
    if (getpid() == 0 || pthread_self() == 0)
        errno = 0;
#endif
}

int main() {
    std::thread thread([] { ready = 1; });
    while (!ready)
        call();
    thread.join();
}
