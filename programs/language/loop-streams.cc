// A loop that goes on inside the C++ library, which has no hooks: each round changes a stream or a string, until the loop leaves.
#include <atomic>
#include <cassert>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

static std::atomic<int> stop;
static int ended;

#if WAY == 1
static auto lines = std::make_unique<std::istringstream>("a\na\na\na\n");
static bool goes_on() {
    static std::string line;
    return bool(std::getline(*lines, line));
}
#elif WAY == 2
static auto text = std::make_unique<std::string>("aaaa");
static bool goes_on() {
    return text->append("a").size() <= 8;
}
#elif WAY == 3
static auto letters = std::make_unique<std::istringstream>("aaaa");
static bool goes_on() {
    // A virtual function of the library: the program's code has its address from there.
    return letters->rdbuf()->pubseekoff(1, std::ios_base::cur, std::ios_base::in) != -1;
}
#else
static auto text = std::make_unique<std::ostringstream>();
static bool goes_on() {
    *text << 1;
    return text->tellp() <= 4;
}
#endif

static void reader() {
    while (!stop)
        if (!goes_on()) {
            ended = 1;
            break;
        }
}

int main() {
    std::thread thread(reader);
    stop = 1;
    thread.join();
#ifdef NEVER
    assert(!ended); // <-
#endif
}
