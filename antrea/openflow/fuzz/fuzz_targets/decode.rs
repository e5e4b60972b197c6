//! Any bytes as a message.
#![no_main]

#[path = "../check.rs"]
mod check;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| check::check(bytes));
