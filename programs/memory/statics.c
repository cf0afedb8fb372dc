// Functions of the C library that keep something: what is ordered, and what each thread has for itself.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *start(void *unused) {
    // All threads read.
    assert(getenv("REWEAVE_CORPUS") && strcmp(setlocale(LC_ALL, 0), "C") == 0);
    // Kept for each thread, under a lock of the library's, or by the program.
    assert(strcmp(strerror(-1), "Unknown error -1") == 0);
    assert(strcmp(strsignal(999), "Unknown signal 999") == 0);
    assert(strcmp(inet_ntoa((struct in_addr){0x0100007f}), "127.0.0.1") == 0);
    assert(rand() >= 0 && random() >= 0);
    time_t hour = 3600;
    struct tm parts;
    char text[26];
    assert(gmtime_r(&hour, &parts)->tm_hour == 1 && asctime_r(&parts, text) == text);
    unsigned short stream[3] = {1, 2, 3};
    assert(nrand48(stream) >= 0);
    mbstate_t state = {0};
    assert(mbrlen("a", 1, &state) == 1);
    // Together with the use of the result.
    pthread_mutex_lock(&mutex);
    assert(gmtime(&hour)->tm_hour == 1);
    assert(strcmp(asctime(&parts), "Thu Jan  1 01:00:00 1970\n") == 0);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    assert(setenv("REWEAVE_CORPUS", "1", 1) == 0 && setlocale(LC_ALL, "C"));
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(gmtime(&(time_t){0})->tm_hour == 0 && unsetenv("REWEAVE_CORPUS") == 0);
}
