//! `antrea-cni sysctls`: filters by the reverse path loosely on Antrea's interfaces, for an init container.
//!
//! Traffic that policy routing leads through an interface of Antrea's would fail a strict filter. Some distributions set
//! one on each interface that appears, from files below /etc/sysctl.d; there the last file by name wins.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

/// Interfaces of Egress, beside the gateway.
const EXTERNAL: &str = "antrea-ext";

/// `rp_filter` of the kernel's ip-sysctl documentation: the source has to be reachable through any interface.
const LOOSE: &str = "2";

/// The longest name that an interface of Linux has.
const LONGEST_NAME: usize = 15;

/// What the command line says.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    gateway: String,
    /// The file that the Node's own programs apply.
    file: PathBuf,
    /// The folder with one folder for each interface: net/ipv4/conf of the Node's sysctls.
    sysctls: PathBuf,
}

/// Runs `sysctls` with the arguments that follow it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    fs::write(&options.file, file(&options.gateway))
        .with_context(|| format!("cannot write {}", options.file.display()))?;
    apply(&options)
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let (mut gateway, mut file, mut sysctls) = (None, None, None);
        let mut words = arguments.iter();
        while let Some(flag) = words.next() {
            let value = words.next().with_context(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--gateway" => gateway = Some(interface_name(value)?),
                "--file" => file = Some(value.into()),
                "--sysctls" => sysctls = Some(value.into()),
                _ => bail!("sysctls does not know {flag:?}: see antrea-cni --help"),
            }
        }
        Ok(Self {
            gateway: gateway.context("sysctls needs --gateway")?,
            file: file.context("sysctls needs --file")?,
            sysctls: sysctls.context("sysctls needs --sysctls")?,
        })
    }
}

/// A name that is neither a path nor a pattern, nor more than a key of a file for sysctl(8).
fn interface_name(name: &str) -> Result<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    ensure!(
        (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_plain),
        "--gateway {name:?} is not the name of an interface: 1 to {LONGEST_NAME} letters, digits, - and _"
    );
    Ok(name.to_owned())
}

/// As upstream's init container writes it, so that either can take the place of the other.
fn file(gateway: &str) -> String {
    format!(
        "# Written by Antrea. Its interfaces take packets by policy routing, which a strict filter would drop.\n\
         net.ipv4.conf.{EXTERNAL}*.rp_filter = {LOOSE}\n\
         net.ipv4.conf.{gateway}.rp_filter = {LOOSE}\n"
    )
}

/// Whether an interface is the gateway or one of Egress.
fn is_ours(interface: &str, gateway: &str) -> bool {
    interface == gateway || interface.starts_with(EXTERNAL)
}

/// Those that are there already do not appear again.
fn apply(options: &Options) -> Result<()> {
    let folder = &options.sysctls;
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let name = entry.with_context(|| format!("cannot list {}", folder.display()))?.file_name();
        if name.to_str().is_some_and(|name| is_ours(name, &options.gateway)) {
            set_loose(&folder.join(name).join("rp_filter"))?;
        }
    }
    Ok(())
}

fn set_loose(sysctl: &Path) -> Result<()> {
    match fs::write(sysctl, LOOSE) {
        // The interface has gone meanwhile.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        outcome => outcome.with_context(|| format!("cannot set {} to {LOOSE}", sysctl.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        let arguments: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn bad_flags_get_a_clear_error() {
        for (line, expected) in [
            ("--gateway gw0 --file f", "sysctls needs --sysctls"),
            ("--gateway", "--gateway needs a value"),
            ("--gw x", "sysctls does not know \"--gw\": see antrea-cni --help"),
            (
                "--gateway all.rp_filter=0",
                "--gateway \"all.rp_filter=0\" is not the name of an interface: 1 to 15 letters, digits, - and _",
            ),
        ] {
            assert_eq!(parse(line).unwrap_err().to_string(), expected);
        }
        assert!(parse("--gateway ../all --file f --sysctls s").is_err());
    }

    #[test]
    fn interfaces_that_are_there_and_those_that_come_are_filtered_loosely_and_no_others_are_touched() {
        let node = tempfile::tempdir().unwrap();
        let interfaces = ["all", "default", "eth0", "gw0", "gw01", "antrea-ext.5", "antrea-gw0"];
        for interface in interfaces {
            fs::create_dir_all(node.path().join(interface)).unwrap();
            fs::write(node.path().join(interface).join("rp_filter"), "1").unwrap();
        }
        let file = node.path().join("99-zzzz-antrea.conf");
        let (path, folder) = (file.display().to_string(), node.path().display().to_string());
        run(&["--gateway", "gw0", "--file", &path, "--sysctls", &folder].map(ToOwned::to_owned)).unwrap();
        let read = |name: &str| fs::read_to_string(node.path().join(name).join("rp_filter")).unwrap();
        let loose: Vec<_> = interfaces.into_iter().filter(|name| read(name) == LOOSE).collect();
        assert_eq!(loose, ["gw0", "antrea-ext.5"]);
        let written = fs::read_to_string(file).unwrap();
        let settings: Vec<_> = written.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(settings, ["net.ipv4.conf.antrea-ext*.rp_filter = 2", "net.ipv4.conf.gw0.rp_filter = 2"]);
    }
}
