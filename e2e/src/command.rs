//! Running programs: their output as text, their failure as an error that shows the command and what it said.

use std::fs::File;
use std::io::Write as _;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use crate::names::LabName;
use crate::processes::MARK;

/// Where programs are on a Node.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How much of what a failed program said is shown.
const SHOWN: usize = 2000;

/// Runs a [`Command`] to its end.
pub trait Run {
    /// Its standard output.
    ///
    /// # Errors
    /// When it cannot start or ends with another code than 0.
    fn text(&mut self) -> Result<String>;

    /// Its standard output, with `input` on its standard input.
    ///
    /// # Errors
    /// As [`Run::text`].
    fn feed(&mut self, input: &str) -> Result<String>;

    /// Like [`Run::text`], for programs whose output nobody needs.
    ///
    /// # Errors
    /// As [`Run::text`].
    fn run(&mut self) -> Result<()> {
        self.text().map(|_| ())
    }
}

/// A program that is killed on drop, so that an early return does not leave it behind.
#[derive(Debug)]
pub struct KilledOnDrop(Child);

impl KilledOnDrop {
    /// Starts it.
    ///
    /// # Errors
    /// When it cannot start.
    pub fn spawn(command: &mut Command) -> Result<Self> {
        let child = command.spawn().with_context(|| format!("cannot run {}", describe(command)))?;
        Ok(Self(child))
    }
}

impl Deref for KilledOnDrop {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for KilledOnDrop {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Run for Command {
    fn text(&mut self) -> Result<String> {
        let shown = describe(self);
        let output = self.stdin(Stdio::null()).output().with_context(|| format!("cannot run {shown}"))?;
        checked(&shown, &output)
    }

    fn feed(&mut self, input: &str) -> Result<String> {
        let shown = describe(self);
        let started = self.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = started.with_context(|| format!("cannot run {shown}"))?;
        let writer = child.stdin.take().map(|mut stdin| {
            let input = input.to_owned();
            // A program that ends without reading all of it has its reason in its exit code.
            std::thread::spawn(move || stdin.write_all(input.as_bytes()).ok())
        });
        let output = child.wait_with_output().with_context(|| format!("cannot wait for {shown}"))?;
        if let Some(writer) = writer {
            writer.join().ok();
        }
        checked(&shown, &output).with_context(|| format!("its input was:\n{input}"))
    }
}

/// A program by name with its arguments.
pub fn command(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Starts a program of a lab, which goes on when this process ends: a session of its own, no terminal, no variables of
/// the user's (a proxy for HTTP, say), and the lab's mark.
///
/// # Errors
/// When it cannot start.
pub fn spawn_detached(lab: &LabName, command: &Command, log: &Path) -> Result<()> {
    let shown = describe(command);
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let errors = file.try_clone().with_context(|| format!("cannot write {}", log.display()))?;
    let mut detached = Command::new("setsid");
    detached.arg(command.get_program()).args(command.get_args());
    detached.env_clear().env("PATH", PATH).env("HOME", "/root").env(MARK, lab.as_str());
    if let Some(folder) = command.get_current_dir() {
        detached.current_dir(folder);
    }
    let started = detached.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
    let mut child = started.with_context(|| format!("cannot run {shown}"))?;
    // While this process lives, its children must not stay behind as zombies.
    std::thread::spawn(move || child.wait().ok());
    Ok(())
}

fn checked(shown: &str, output: &Output) -> Result<String> {
    if output.status.success() {
        return String::from_utf8(output.stdout.clone()).with_context(|| format!("{shown} wrote no UTF-8"));
    }
    let said =
        String::from_utf8_lossy(if output.stderr.is_empty() { &output.stdout } else { &output.stderr });
    bail!("{shown} failed ({}): {}", output.status, last_part(said.trim()))
}

fn last_part(text: &str) -> &str {
    let start = text.len().saturating_sub(SHOWN);
    text.get(text.ceil_char_boundary(start)..).unwrap_or_default()
}

fn describe(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy()));
    format!("`{}`", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_the_command_and_what_it_said() {
        let error = command("sh", &["-c", "echo no >&2; exit 3"]).run().unwrap_err();
        assert_eq!(error.to_string(), "`sh -c echo no >&2; exit 3` failed (exit status: 3): no");
    }

    #[test]
    fn a_program_reads_its_input() {
        assert_eq!(command("cat", &[]).feed("all of it").unwrap(), "all of it");
    }
}
