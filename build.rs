//! Link options of the program.
//!
//! On Linux it is loaded at a fixed address. A relocatable one of this size writes to 1.4 MB of its own tables before it
//! starts, which costs 0.9 ms of each start, and each command in a sandbox starts it once more. Libraries, stack and heap
//! keep their random addresses.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    if of("PROFILE") == "release"
        && of("CARGO_CFG_TARGET_OS") == "linux"
        && of("CARGO_CFG_TARGET_ENV") == "gnu"
        && !of("CARGO_CFG_TARGET_FEATURE").contains("crt-static")
    {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
