//! The fuzzer: libFuzzer, which guides what it makes up by the edges of the code that it passes. `FUZZ_TARGET` names the
//! target; arguments are libFuzzer's. `cargo xtask fuzz` builds and runs it.

#![no_main]

use std::process;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use xtask_fuzz::Target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    Target::named(&name).unwrap_or_else(|| {
        eprintln!("FUZZ_TARGET has to name a target, which {name:?} is not");
        process::exit(2)
    })
});

fuzz_target!(init: LazyLock::force(&TARGET), |bytes: &[u8]| (TARGET.read)(bytes));
