//! Has the linker pack the relocations: unpacked ones are a megabyte that the loader reads and that stays resident.

fn main() {
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    println!("cargo::rerun-if-changed=build.rs");
}
