// A thread that the destructor of a global waits for: main returns first, but the process does not end before it.
#include <thread>
struct G{std::thread t;void go(){t=std::thread([]{});}~G(){t.join();}}g;
int main(){g.go();return 0;}
