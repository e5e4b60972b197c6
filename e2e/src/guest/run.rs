//! One run of a guest: what it is given, its output as it comes, and how it ends.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::machine::{Files, Machine, Mebibytes};
use super::{Guest, initramfs};
use crate::{cache, wait};

/// Commands in a guest have this variable.
pub const MARK: &str = "ANTREA_GUEST";

/// The folder of a run, for as long as it lasts.
struct Folder(PathBuf);

impl Guest {
    /// Runs a command in a guest with that much memory and returns its exit code. What it prints goes to `output` while it runs, what the
    /// kernel says to the file `console`.
    ///
    /// # Errors
    /// When the guest does not start, dies, or is not done within `limit`.
    pub fn run(
        &self,
        memory: Mebibytes,
        command: &[String],
        output: &mut impl Write,
        console: &Path,
        limit: Duration,
    ) -> Result<i32> {
        let folder = Folder::create()?;
        folder.write("start", start(command, std::env::vars_os())?.as_bytes())?;
        folder.write("output", b"")?;
        folder.write("initramfs", &initramfs::build(&self.kernel, &folder.0)?)?;
        let files = Files {
            initramfs: folder.0.join("initramfs"),
            socket: folder.0.join("socket"),
            log: folder.0.join("log"),
            console: console.to_owned(),
        };
        let mut machine = Machine::start(&self.kernel, memory, &files)?;
        let mut shown = File::open(folder.0.join("output")).context("cannot read the guest's output")?;
        let ended = wait::until(limit, "the end of the guest", || {
            let ended = machine.ended()?;
            io::copy(&mut shown, output).context("cannot show the guest's output")?;
            Ok(ended.is_some())
        });
        let said = || {
            let (console, machine) = (last_lines(&files.console), last_lines(&files.log));
            format!("the guest's kernel said:\n{console}and the virtual machine:\n{machine}")
        };
        ended.with_context(said)?;
        match fs::read_to_string(folder.0.join("exit-code")) {
            Ok(code) => code.trim().parse().context("the guest's exit code is no number"),
            Err(_) => bail!("the guest died; {}", said()),
        }
    }
}

/// The shell script that the guest runs.
fn start(command: &[String], environment: impl Iterator<Item = (OsString, OsString)>) -> Result<String> {
    let folder = std::env::current_dir().context("there is no current folder")?;
    // What an ordinary machine loads when somebody opens the device.
    let mut script = format!("modprobe tun\nexport {MARK}=1\n");
    for (name, value) in environment {
        // A variable whose name no shell knows is none that anybody set for the command.
        if let (Some(name), Some(value)) = (name.to_str().filter(|name| is_name(name)), value.to_str()) {
            script += &format!("export {name}={}\n", quoted(value));
        }
    }
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    script += &format!("cd {} && {}", quoted(&folder.to_string_lossy()), words.join(" "));
    script +=
        " </dev/null >/run/guest/output 2>&1\necho $? >/run/guest/exit-code\nexec busybox poweroff -f\n";
    Ok(script)
}

fn is_name(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn last_lines(file: &Path) -> String {
    let text = fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].iter().map(|line| format!("{line}\n")).collect()
}

impl Folder {
    fn create() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("antrea-guest-{}", std::process::id()));
        cache::remove(&path)?;
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }

    fn write(&self, name: &str, contents: &[u8]) -> Result<()> {
        let path = self.0.join(name);
        fs::write(&path, contents).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody is left to tell, and temporary folders are cleaned by others as well.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_gets_the_environment_and_its_words_as_they_are() {
        let environment = [("A", "it's"), ("1", "no"), ("_B2", "")];
        let environment = environment.into_iter().map(|(name, value)| (name.into(), value.into()));
        let script = start(&["echo".to_owned(), "$A b".to_owned()], environment).unwrap();
        let lines: Vec<&str> = script.lines().collect();
        assert_eq!(
            lines[..4],
            ["modprobe tun", "export ANTREA_GUEST=1", r"export A='it'\''s'", "export _B2=''"]
        );
        assert!(lines[4].ends_with(" && 'echo' '$A b' </dev/null >/run/guest/output 2>&1"), "{script}");
    }
}
