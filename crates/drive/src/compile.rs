//! Compiles C and C++ with the compiler's thread-sanitizer instrumentation, linked against the runtime.
