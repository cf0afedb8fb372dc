// Streams of the C++ library, whose code has no hooks. WAY: 1, two threads write to one stream; 2, one reads its text; 3, one reads its state;
// 4, a file's stream; 5, a path that is extended and read. Without it: standard streams, which threads may share, streams of each thread,
// and a stream under a mutex.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>

static volatile int seen;

int main() {
#if WAY == 1
    static std::ostringstream stream;
    std::thread thread([] {
        stream << 1; // <-
    });
    stream << "two"; // <-
    thread.join();
#elif WAY == 2
    static std::stringstream stream;
    std::thread thread([] {
        stream << 1; // <-
    });
    seen = (int)stream.str().size(); // <-
    thread.join();
#elif WAY == 3
    static std::istringstream stream("12 13");
    std::thread thread([] {
        int number;
        stream >> number; // <-
    });
    seen = stream.eof(); // <-
    thread.join();
#elif WAY == 4
    static std::ofstream stream("/dev/null");
    std::thread thread([] {
        stream << 1.5; // <-
    });
    stream.put('x'); // <-
    thread.join();
#elif WAY == 5
    static std::filesystem::path path("/usr");
    std::thread thread([] {
        path /= "lib"; // <-
    });
    seen = (int)path.native().size(); // <-
    thread.join();
#else
    static std::mutex mutex;
    static std::ostringstream shared;
    auto work = [](int number) {
        std::ostringstream own;
        own << number << std::endl;
        std::cout << own.str() << "text" << 1.5;
        std::cerr << number;
        std::lock_guard lock(mutex);
        shared << own.str();
    };
    std::thread one(work, 1), two(work, 2);
    one.join();
    two.join();
    return shared.str().size() != 4;
#endif
}
