// Two threads use one string without a lock: what the library does for them is compiled here, and seen.
#include <string>
#include <thread>
std::string s="abc";
int main(){std::thread t([]{s+="defghijklmnopqrstuvwxyz";});std::string q=s;t.join();}
