// Two threads let the library write to the same memory.
#define _GNU_SOURCE
#include <pthread.h>
#include <reweave.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static unsigned which, seed;
static char text[4096], *end;
static int numbers[3] = {3, 1, 2};
static struct tm parts = {.tm_mday = 1, .tm_year = 100};
static struct timespec now;
static struct timeval also_now;
static struct stat about;
static time_t second;
static sem_t semaphore;

static int compare(const void *one, const void *other) {
    int a, b;
    __builtin_memcpy(&a, one, sizeof a);
    __builtin_memcpy(&b, other, sizeof b);
    return a - b;
}

static void *start(void *unused) {
    struct tm own = {.tm_mday = 1};
    time_t zero = 0;
    char words[] = "some words";
    volatile size_t none = 0;
    int value;
    switch (which) {
    case 0:
        sprintf(text, "%d", 1); // <-
        break;
    case 1:
        snprintf(text, none + 3, "%s", "long text"); // <-
        break;
    case 2:
        strtol("12 ", &end, 10); // <-
        break;
    case 3:
        strtok(words, " "); // <-
        break;
    case 4:
        strtok_r(words, " ", &end); // <-
        break;
    case 5:
        qsort(numbers, 3, sizeof *numbers, compare); // <-
        break;
    case 6:
        strftime(text, sizeof text, "%Y", &own); // <-
        break;
    case 7:
        gmtime_r(&zero, &parts); // <-
        break;
    case 8:
        value = rand_r(&seed); // <-
        break;
    case 9:
        clock_gettime(CLOCK_MONOTONIC, &now); // <-
        break;
    case 10:
        gettimeofday(&also_now, 0); // <-
        break;
    case 11:
        time(&second); // <-
        break;
    case 12:
        value = stat("/", &about); // <-
        break;
    case 13:
        value = getcwd(text, sizeof text) != 0; // <-
        break;
    case 14:
        sem_getvalue(&semaphore, numbers); // <-
        break;
    case 15:
        asctime_r(&own, text); // <-
        break;
    case 16:
        ctime_r(&zero, text); // <-
        break;
    default:
        // Nothing of it is shared.
        snprintf(text, none, "%d", 1);
        value = stat("/there/is/no/such/file", &about);
        strtol("12", 0, 10);
    }
    (void)value;
    return unused;
}

int main(void) {
    sem_init(&semaphore, 0, 1);
    which = reweave_any(18);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    sem_destroy(&semaphore);
}
