//! Build script of programs: has the linker make them smaller, since most of the memory that they take is the program itself.

use std::path::Path;
use std::{env, fs, io};

/// Leaves out the tables for unwinding. A released program aborts when it panics, and has no symbols for a backtrace.
const WITHOUT_UNWINDING: &str =
    "SECTIONS { /DISCARD/ : { *(.eh_frame) *(.eh_frame_hdr) *(.gcc_except_table .gcc_except_table.*) } }
INSERT AFTER .text;
";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=../../shared-api/program.rs");
    // Unpacked relocations are a megabyte that the loader reads and that stays resident.
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    if links_with_lld_for_a_release() {
        // Half a megabyte of generic functions are the same machine code for several types. Only LLD keeps one of each,
        // and backtraces then name one for the other.
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        discard_unwind_tables()?;
    }
    Ok(())
}

/// Rust links with LLD on this target alone.
fn links_with_lld_for_a_release() -> bool {
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    is("PROFILE", "release") && is("TARGET", "x86_64-unknown-linux-gnu")
}

fn discard_unwind_tables() -> io::Result<()> {
    let folder = env::var("OUT_DIR").map_err(io::Error::other)?;
    let script = Path::new(&folder).join("program.ld");
    fs::write(&script, WITHOUT_UNWINDING)?;
    println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
    Ok(())
}
