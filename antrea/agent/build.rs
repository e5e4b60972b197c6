//! Has the linker make the program smaller, since what it takes of memory is mostly itself.

fn main() {
    // Unpacked relocations are a megabyte that the loader reads and that stays resident.
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    if merges_identical_code() {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// Half a megabyte of generic functions are the same machine code for several types. Only LLD keeps one of each, which Rust
/// links with on this target alone; and only in programs that are released: backtraces name one for the other.
fn merges_identical_code() -> bool {
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|found| found == value);
    is("PROFILE", "release") && is("TARGET", "x86_64-unknown-linux-gnu")
}
