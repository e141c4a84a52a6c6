//! Feeds what the fuzzer makes up to the one entry that `cargo test` uses too.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kit::any_bytes::any_bytes(data));
