// A signal that nobody handles ends the program.
#include <signal.h>

int main(void) {
    raise(SIGTERM); // <-
}
