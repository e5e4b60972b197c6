//! The CNI plugin: forwards what the container runtime asks to the agent on the same Node, and prints the answer.
//!
//! Without arguments it is a CNI plugin (environment and standard input in, JSON on standard output);
//! `antrea-cni install …` puts it and its configuration where the container runtime looks for them.

mod client;
mod command;
mod environment;
mod install;
mod kernel_module;
mod sysctls;

use std::io::{Read, Write};
use std::process::ExitCode;

use antrea_cni::error::CniError;
use antrea_cni::proto::ErrorCode;
use antrea_cni::version::CniVersion;

const USAGE: &str = "antrea-cni: the CNI plugin of Antrea

As a CNI plugin it takes no arguments: CNI_COMMAND says what to do, ANTREA_CNI_SOCKET where the agent listens
(default /var/run/antrea/cni.sock).

  antrea-cni install --bin-dir DIR --conf-file FILE --conf-dir DIR [--plugin-dir DIR] [--skip NAME]...
                     [--datapath system|netdev]
      validates the network configuration list FILE, copies this program as DIR/antrea and the plugins portmap,
      bandwidth and loopback of --plugin-dir (default /opt/cni/bin) into --bin-dir, then writes
      10-antrea.conflist into --conf-dir; --skip leaves one of the plugins out; with --datapath system the kernel
      has to have Open vSwitch's module, and is made to load it, before anything is copied
  antrea-cni sysctls --gateway INTERFACE --file FILE --sysctls DIR
      sets rp_filter of the gateway and of antrea-ext* to 2 below DIR (net/ipv4/conf of the sysctls), and writes that
      to FILE, for what sets sysctls of new interfaces
  antrea-cni --version";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("install") => report(install::run(arguments.get(1..).unwrap_or_default())),
        Some("sysctls") => report(sysctls::run(arguments.get(1..).unwrap_or_default())),
        Some("--version") => {
            report(print(concat!("antrea-cni ", env!("CARGO_PKG_VERSION"), "\n").as_bytes()))
        }
        Some("--help" | "-h") => report(print(format!("{USAGE}\n").as_bytes())),
        Some(other) => report(Err(anyhow::anyhow!("unknown argument {other:?}\n{USAGE}"))),
        None => run_plugin(),
    }
}

fn report(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("antrea-cni: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// One CNI command. What fails is printed as the specification wants it: an error object and a non-zero exit code.
fn run_plugin() -> ExitCode {
    let mut input = Vec::new();
    let outcome = std::io::stdin()
        .read_to_end(&mut input)
        .map_err(|error| CniError::new(ErrorCode::IoFailure, format!("cannot read standard input: {error}")))
        .and_then(|_| command::run(&environment::Environment::of_process(), &input));
    let (output, code) = match outcome {
        Ok(output) => (output, ExitCode::SUCCESS),
        Err(error) => {
            let version = serde_json::from_slice(&input).ok().and_then(|config| CniVersion::of(&config).ok());
            let object = error.to_json(version.unwrap_or(CniVersion::LATEST));
            (object.to_string().into_bytes(), ExitCode::FAILURE)
        }
    };
    match print(&output) {
        Ok(()) => code,
        Err(error) => report(Err(error)),
    }
}

fn print(output: &[u8]) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(output)?;
    Ok(stdout.flush()?)
}
