/* reweave-std.h: comes before every file that reweave compiles, for C++'s library.
 *
 * C++'s library looks at an atomic sixteen times before it sleeps (std::atomic::wait, std::latch, std::barrier, std::counting_semaphore), and every
 * look is a place where another thread may come in between. None of them finds out more than the first: so it looks
 * once. The library's own function has the same parameters and is less constrained, so this one is preferred.
 */
/* What asks sanitizers to leave it alone is observed like everything else. */
#define no_sanitize(...) unused
#define __no_sanitize__(...) unused
#define no_sanitize_thread unused
#define __no_sanitize_thread__ unused
#define disable_sanitizer_instrumentation unused

#if defined __cplusplus && __has_include(<bits/c++config.h>)
/* std::string and its like are compiled here, with hooks, and not taken from the library, which has none. */
#include <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif

#if defined __cplusplus && __cplusplus >= 202002L
#if __has_include(<bits/atomic_wait.h>)
namespace std {
namespace __detail {
struct __default_spin_policy;
template <typename _Pred, typename _Spin = __default_spin_policy>
    requires true
bool __atomic_spin(_Pred &__pred, _Spin = _Spin{}) noexcept {
    return __pred();
}
} // namespace __detail
} // namespace std
#endif
#endif
