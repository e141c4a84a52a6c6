//! The integration tests, one binary: each module is data plus one check.
