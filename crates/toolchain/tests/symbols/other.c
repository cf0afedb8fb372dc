#include "expect.h"

/* Of the same names as in objects.c. */
struct node {
    char name[8];
    short weight;
};
static struct node nodes[2];
static int flag[3];
extern int counter;

__attribute__((noinline)) void other(void)
{
    static int count[2];
    VARIABLE(nodes[1].weight);
    VARIABLE(flag[2]);
    VARIABLE(counter);
    VARIABLE_AS(count[1], "other::count[1]");
    FRAMES("other");
}
