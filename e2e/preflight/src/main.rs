//! `cargo xtask COMMAND`: says at once all that the machine lacks for a command, then builds and runs `xtask`.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use antrea_preflight::{Purpose, check, root};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(Err(missing)) = Purpose::of_command(&arguments).map(check) {
        eprintln!("Error: {missing}");
        return ExitCode::FAILURE;
    }
    let mut xtask = Command::new(env!("CARGO"));
    xtask
        .args(["run", "--quiet", "--manifest-path"])
        .arg(root().join("xtask/Cargo.toml"))
        .arg("--")
        .args(&arguments);
    // It takes the place of this process, and ends as that would.
    eprintln!("Error: cannot run cargo: {}", xtask.exec());
    ExitCode::FAILURE
}
