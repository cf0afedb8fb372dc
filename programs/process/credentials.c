// A process changes its user and its groups, in one thread or beside another one. A change to what is there already changes nothing.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

static void *start(void *argument) {
    assert(getuid() == geteuid() && getgid() == getegid());
    return argument;
}

static void same(void) {
    uid_t real, effective, saved;
    gid_t group, effective_group, saved_group;
    assert(getresuid(&real, &effective, &saved) == 0 && real == getuid());
    assert(getresgid(&group, &effective_group, &saved_group) == 0 && group == getgid());
    assert(setuid(real) == 0 && seteuid(effective) == 0 && setreuid(-1, effective) == 0);
    assert(setresuid(-1, -1, saved) == 0 && seteuid(-1) == -1 && errno == EINVAL);
    assert(setgid(group) == 0 && setegid(effective_group) == 0 && setregid(-1, effective_group) == 0);
    assert(setresgid(-1, -1, saved_group) == 0 && setegid(-1) == -1 && errno == EINVAL);
    assert(getuid() == real && geteuid() == effective && getgid() == group);
}

int main(void) {
    gid_t groups[64];
    int count = getgroups(64, groups);
    if (setgroups(count, groups) != 0)
        assert(errno == EPERM);
    same();
    pthread_t thread;
    pthread_create(&thread, NULL, start, NULL);
    if (BESIDE)
        assert(setuid(getuid()) == 0);
    pthread_join(thread, NULL);
    same();
}
