//! Small cases one by one, then random runs against all accesses ever made.

mod cases;
mod random;
