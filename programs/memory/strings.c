// Functions on memory and strings do what libc's do.
#define _GNU_SOURCE
#include <reweave.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CHECK(claim) reweave_check(claim, #claim)

// What the compiler does not know it cannot compute by itself.
static const char *volatile hello = "Hello, world", *volatile empty = "", *volatile tail = "hijk";

int main(void) {
    char a[32], b[32], *end;
    CHECK(strlen(hello) == 12 && strlen(empty) == 0 && strnlen(hello, 5) == 5 && strnlen(hello, 50) == 12);
    CHECK(memset(a, 'x', sizeof a) == a && a[0] == 'x' && a[31] == 'x');
    CHECK(strcpy(a, hello) == a && strcmp(a, hello) == 0 && a[13] == 'x');
    CHECK(strncpy(b, hello, 5) == b && memcmp(b, "Hello", 5) == 0);
    memset(b, 'y', sizeof b);
    CHECK(strncpy(b, "ab", 5) == b && memcmp(b, "ab\0\0\0y", 6) == 0);
    CHECK(stpcpy(b, "abc") == b + 3 && stpncpy(b, "de", 4) == b + 2 && b[3] == 0);
    CHECK(strcat(b, "fg") == b && strcmp(b, "defg") == 0);
    CHECK(strncat(b, tail, 2) == b && strcmp(b, "defghi") == 0);
    CHECK(memcpy(b, hello, 3) == b && memcmp(b, "Helghi", 6) == 0);
    CHECK(memmove(b + 1, b, 5) == b + 1 && strcmp(b, "HHelgh") == 0);
    CHECK(mempcpy(b, "xyz", 2) == b + 2 && strcmp(b, "xyelgh") == 0);
    CHECK(memccpy(b, "12345", '3', 5) == b + 3 && memccpy(b, "12345", '9', 2) == 0 && strcmp(b, "123lgh") == 0);
    bcopy("ab", b, 2);
    CHECK(strcmp(b, "ab3lgh") == 0);
    bzero(b + 2, 4);
    CHECK(strcmp(b, "ab") == 0 && b[5] == 0);
    explicit_bzero(b, 2);
    CHECK(b[0] == 0 && b[1] == 0);
    CHECK(strcmp(hello, "Hello") > 0 && strcmp(hello, "I") < 0 && strncmp(hello, "Help", 3) == 0);
    CHECK(strncmp(hello, "Help", 4) < 0 && strncmp(hello, empty, 0) == 0);
    CHECK(strcasecmp(hello, "hELLO, WORLD") == 0 && strncasecmp(hello, "HELP", 4) < 0);
    CHECK(memcmp(hello, "Hella", 5) > 0 && memcmp(hello, "Hella", 4) == 0 && bcmp(hello, "Hellb", 5) != 0);
    CHECK(memchr(hello, 'o', 12) == hello + 4 && memchr(hello, 'o', 4) == 0 && memrchr(hello, 'o', 12) == hello + 8);
    CHECK(memmem(hello, 12, "wor", 3) == hello + 7 && memmem(hello, 9, "wor", 3) == 0 && memmem(hello, 2, empty, 0) == hello);
    CHECK(strchr(hello, 'o') == hello + 4 && strchr(hello, 'z') == 0 && strchr(hello, 0) == hello + 12);
    CHECK(strrchr(hello, 'o') == hello + 8 && strchrnul(hello, 'z') == hello + 12);
    CHECK(index(hello, 'l') == hello + 2 && rindex(hello, 'l') == hello + 10);
    CHECK(strstr(hello, "wor") == hello + 7 && strstr(hello, "word") == 0 && strstr(hello, empty) == hello);
    CHECK(strspn(hello, "Hel") == 4 && strcspn(hello, " ,") == 5);
    CHECK(strpbrk(hello, "ow") == hello + 4 && strpbrk(hello, "xyz") == 0);
    end = strdup(hello);
    CHECK(strcmp(end, hello) == 0);
    free(end);
    end = strndup(hello, 5);
    CHECK(strcmp(end, "Hello") == 0);
    free(end);
}
