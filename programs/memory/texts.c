// Functions that write text, numbers and times do what libc's do.
#define _GNU_SOURCE
#include <reweave.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int print(char *to, size_t bytes, const char *format, ...) {
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    vsprintf(to, format, again);
    int length = vsnprintf(to, bytes, format, list);
    va_end(list);
    va_end(again);
    return length;
}

static int compare(const void *one, const void *other) {
    return *(const int *)one - *(const int *)other;
}

static int compare_with(const void *one, const void *other, void *sign) {
    return compare(one, other) * *(int *)sign;
}

static void is(const char *text, const char *wanted) {
    reweave_check(strcmp(text, wanted) == 0, wanted);
}

int main(void) {
    char text[256];
    volatile size_t three = 3;
    long double large = 0.5L;
    int length = sprintf(text, "%d %ld %s %c %.1f %.2e %.1Lf %u %d %d %.0f %.0f %.0f %.0f %.0f %.0f %.0f %d", -1, 1L << 40, "word", 'c',
                         1.5, 250.0, large, 7U, 8, 9, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 10);
    is(text, "-1 1099511627776 word c 1.5 2.50e+02 0.5 7 8 9 1 2 3 4 5 6 7 10");
    reweave_check(length == (int)strlen(text), "the length of what is printed");
    reweave_check(snprintf(text, three + 1, "%s", "long text") == 9, "the length of all of it");
    is(text, "lon");
    reweave_check(snprintf(0, 0, "%d", 100) == 3, "the length of nothing");
    reweave_check(print(text, three, "%d %.1f", 12, 2.5) == 6, "the length from a list");
    is(text, "12");

    int number = 0;
    double fraction = 0;
    reweave_check(sscanf("5 of 2.5", "%d of %lf", &number, &fraction) == 2, "scanned");
    reweave_check(number == 5 && fraction == 2.5, "what was scanned");

    char *end;
    const char *digits = " -12x";
    reweave_check(strtol(digits, &end, 10) == -12 && *end == 'x', "strtol");
    reweave_check(strtoul("ffg", &end, 16) == 255 && *end == 'g', "strtoul");
    reweave_check(strtoll("x", &end, 10) == 0 && *end == 'x', "strtoll");
    reweave_check(strtod("1.25e2,", &end) == 125 && *end == ',', "strtod");
    reweave_check(strtof("1.5e1;", &end) == 15 && *end == ';', "strtof");
    reweave_check(atoi("17") == 17 && atol("-17") == -17, "atoi");

    char words[] = ",,one,two,";
    is(strtok(words, ","), "one");
    is(strtok(0, ","), "two");
    reweave_check(strtok(0, ",") == 0 && strtok(0, ",") == 0, "no more words");
    char others[] = "a bc";
    is(strtok_r(others, " ", &end), "a");
    is(strtok_r(0, " ", &end), "bc");
    reweave_check(strtok_r(0, " ", &end) == 0, "no more words of these");

    int numbers[] = {3, 1, 2}, sign = -1;
    qsort(numbers, 3, sizeof *numbers, compare);
    reweave_check(numbers[0] == 1 && numbers[1] == 2 && numbers[2] == 3, "sorted");
    qsort_r(numbers, 3, sizeof *numbers, compare_with, &sign);
    reweave_check(numbers[0] == 3 && numbers[1] == 2 && numbers[2] == 1, "sorted backwards");

    time_t second = 86400;
    struct tm parts, local;
    reweave_check(gmtime_r(&second, &parts) == &parts && parts.tm_mday == 2, "a day later");
    reweave_check(localtime_r(&second, &local) == &local && local.tm_year == 70, "that year");
    reweave_check(strftime(text, sizeof text, "%Y-%m-%d", &parts) == 10, "the length of a date");
    is(text, "1970-01-02");
    reweave_check(asctime_r(&parts, text) == text, "the text of a date");
    is(text, "Fri Jan  2 00:00:00 1970\n");
    reweave_check(ctime_r(&second, text) == text, "the text of a time");
    reweave_check(strlen(text) == 25, "its length");
    unsigned one = 1, two = 1;
    reweave_check(rand_r(&one) == rand_r(&two) && one == two && one != 1, "rand_r");
}
