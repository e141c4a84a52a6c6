//! Link options of the program.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if loads_packed_relocations() {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether the program will be run by a C library that understands packed relocations (glibc from 2.36 on). They make it
/// several percent smaller and quicker to start. Unknown for other systems than this one.
fn loads_packed_relocations() -> bool {
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    if of("TARGET") != of("HOST")
        || of("CARGO_CFG_TARGET_ENV") != "gnu"
        || of("CARGO_CFG_TARGET_OS") != "linux"
    {
        return false;
    }
    let Ok(output) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text.trim().rsplit(' ').next().unwrap_or_default().split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (2, 36),
        _ => false,
    }
}
