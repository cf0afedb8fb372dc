/* The programs of this test print what they know of themselves; the test compares it with what their file tells.
 *
 *   variable ADDRESS SIZE NAME
 *   thread   OFFSET SIZE NAME
 *   local    RETURN_ADDRESS OFFSET SIZE NAME
 *   frames   RETURN_ADDRESS FILE LINE FUNCTION...
 *   cfa      RETURN_ADDRESS ABOVE_RSP ABOVE_RBP
 */
#pragma once
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif
extern char __ehdr_start[] __attribute__((visibility("hidden")));

#ifdef __PIE__
#define OFFSET(at) ((unsigned long)((const char *)(at) - __ehdr_start))
#else /* loaded where it was linked for: as if at zero */
#define OFFSET(at) ((unsigned long)(at))
#endif
#define RETURN_ADDRESS OFFSET(__builtin_return_address(0))

/* An access of SIZE bytes at a place, and the name it should have. */
static inline void access_to(const volatile void *at, size_t size, const char *name)
{
    printf("variable %lu %zu %s\n", OFFSET(at), size, name);
}
#define VARIABLE_AS(place, name) access_to(&(place), sizeof(place), name)
#define VARIABLE(place) VARIABLE_AS(place, #place)

#define THREAD_AS(place, name) \
    printf("thread %ld %zu %s\n", (long)((char *)&(place) - (char *)__builtin_thread_pointer()), sizeof(place), name)
#define THREAD(place) THREAD_AS(place, #place)

__attribute__((noinline, unused)) static void local_at(long offset, size_t size, const char *name)
{
    printf("local %lu %ld %zu %s\n", RETURN_ADDRESS, offset, size, name);
    __asm__ volatile("");
}
#define LOCAL_AS(place, name)                                                                    \
    do {                                                                                         \
        local_at((long)((char *)&(place) - (char *)__builtin_dwarf_cfa()), sizeof(place), name); \
        __asm__ volatile("");                                                                    \
    } while (0)
#define LOCAL(place) LOCAL_AS(place, #place)

__attribute__((noinline, unused)) static void frames_at(const char *file, int line, const char *functions)
{
    printf("frames %lu %s %d %s\n", RETURN_ADDRESS, file, line, functions);
    __asm__ volatile("");
}
/* Not a call in tail position, so that the caller is still there. */
#define FRAMES(functions)                          \
    do {                                           \
        frames_at(__FILE__, __LINE__, functions);  \
        __asm__ volatile("");                      \
    } while (0)

/* Before the call that enters this function, the stack pointer is what the frame address will be in it. */
__attribute__((noinline, unused)) static void cfa_at(const char *cfa, const char *rbp)
{
    printf("cfa %lu %ld %ld\n", RETURN_ADDRESS, (long)(cfa - (char *)__builtin_dwarf_cfa()), (long)(cfa - rbp));
    __asm__ volatile("");
}
#define CFA()                                                \
    do {                                                     \
        char *rbp;                                           \
        __asm__ volatile("mov %%rbp, %0" : "=r"(rbp));       \
        cfa_at((const char *)__builtin_dwarf_cfa(), rbp);    \
        __asm__ volatile("");                                \
    } while (0)

#ifdef __cplusplus
}
#endif
