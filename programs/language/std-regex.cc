// Two threads use regular expressions and streams of their own. The C++ library shares tables of characters between them.
#include <cassert>
#include <regex>
#include <sstream>
#include <thread>

static bool matches(const char *pattern, const char *text) {
    return std::regex_match(text, std::regex(pattern));
}

int main() {
    std::thread thread([] {
        assert(matches("[a-c]+", "abc"));
        std::ostringstream words;
        words << 1.5 << std::endl;
    });
    assert(matches("a+b*", "aab"));
    std::ostringstream words;
    words << 17 << std::endl;
    thread.join();
    return 0;
}
