//! Feeds what the fuzzer makes up to the one entry that `cargo test` uses too.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| co::provider::fuzz::any_bytes(data));
