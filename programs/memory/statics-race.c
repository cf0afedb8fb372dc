// Two threads call functions that keep something in memory of the C library's, which nothing protects.
#define _GNU_SOURCE
#include <getopt.h>
#include <grp.h>
#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <pwd.h>
#include <reweave.h>
#include <search.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

extern char **environ;

static unsigned which;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned short own[3];

static void *start(void *number) {
    int first = number == 0, point, sign;
    volatile int used = 0;
    char *words[] = {"name", "-a", 0}, text[] = "a";
    const char *rest = text;
    const struct tm parts = {.tm_mday = 1};
    struct tm *shared;
    time_t zero = 0;
    wchar_t wide;
    switch (which) {
    case 0:
        gmtime(&zero); // <-
        break;
    case 1:
        localtime(&zero); // <-
        break;
    case 2:
        asctime(&parts); // <-
        break;
    case 3:
        ctime(&zero); // <-
        break;
    case 4:
        first ? setenv("REWEAVE_CORPUS", "1", 1) : (void *)getenv("HOME") == text; // <-
        break;
    case 5:
        setenv("REWEAVE_CORPUS", "1", 1); // <-
        break;
    case 6:
        used = first ? putenv("REWEAVE_CORPUS=1") : environ == 0; // <-
        break;
    case 7:
        first ? unsetenv("TZ") : mktime(&(struct tm){.tm_mday = 1}) == 0; // <-
        break;
    case 8:
        drand48(); // <-
        break;
    case 9:
        first ? srand48(1) : (void)lrand48(); // <-
        break;
    case 10:
        nrand48(own); // <-
        break;
    case 11:
        setlocale(LC_ALL, first ? "C" : 0); // <-
        break;
    case 12:
        localeconv(); // <-
        break;
    case 13:
        getopt(2, words, "a"); // <-
        break;
    case 14:
        first ? (void)hcreate(10) : (void)hsearch((ENTRY){text, 0}, FIND); // <-
        break;
    case 15:
        getpwuid(0); // <-
        break;
    case 16:
        getgrnam("root"); // <-
        break;
    case 17:
        mbtowc(&wide, text, 1); // <-
        break;
    case 18:
        mbsrtowcs(&wide, &rest, 1, 0); // <-
        break;
    case 19:
        l64a(5); // <-
        break;
    case 20:
        ecvt(1.5, 3, &point, &sign); // <-
        break;
    default:
        // A lock around the call is not enough: the result is used without it.
        pthread_mutex_lock(&mutex);
        shared = gmtime(&zero); // <-
        pthread_mutex_unlock(&mutex);
        used = shared->tm_hour; // <-
    }
    (void)used;
    return 0;
}

int main(void) {
    which = reweave_any(22);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, i ? threads : 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
}
