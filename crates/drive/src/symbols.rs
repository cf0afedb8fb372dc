//! Names of places and objects of a native program, from its symbols and debug information.
