// A function on wide characters writes what another thread reads. Its accesses are not noted, so beside other threads the search is incomplete; with
// one thread it is a call like any other.
#include <pthread.h>
#include <stddef.h>
#include <wchar.h>

static wchar_t text[8];
static wchar_t seen;

static void *writer(void *unused) {
    wcscpy(text, L"abc");
    return unused;
}

int main(void) {
    wcscpy(text, L"def");
#ifndef ALONE
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    seen = text[0];
    pthread_join(thread, NULL);
#endif
    return wcslen(text) != 3 || seen == L'x' || writer(NULL);
}
