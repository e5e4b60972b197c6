//! `cargo xtask COMMAND`: everything that is done with this project, one command each.

mod advisories;
mod conformance;
mod demo;
mod fuzz;
mod guest;
mod lab;
mod test;

use std::process::{self, ExitCode};

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use xtask::image::{self, Products};
use xtask::project;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// Arguments for another program.
#[derive(Debug, Args)]
struct Passed {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show a real cluster with Antrea, from nothing, and wait.
    Demo(demo::Arguments),
    /// Run the tests; the last line says how many passed, failed and were skipped.
    Test(test::Arguments),
    /// Real Kubernetes clusters on this machine, without containers or VMs for Nodes.
    Lab(lab::LabArguments),
    /// Write the OCI archives of our programs.
    Image {
        /// Only the Multi-cluster controller with one more field, for tests of version skew.
        #[arg(long)]
        next: bool,
    },
    /// Run a command under a kernel that has Open vSwitch's module, with the files of this machine.
    Guest(guest::Arguments),
    /// Run a public suite on a lab.
    Conformance(conformance::Arguments),
    /// Measure: one line per figure.
    #[command(disable_help_flag = true)]
    Bench(Passed),
    /// Write the parts of documents and charts that are data in the code.
    #[command(disable_help_flag = true)]
    Codegen(Passed),
    /// Check the rules that neither the compiler nor clippy knows.
    Tidy,
    /// Look for bytes that do harm where bytes of others are read, guided by coverage.
    Fuzz(fuzz::Arguments),
    /// Say which crates have known vulnerabilities, by cargo-deny.
    Advisories,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Lab(arguments) => lab::run(arguments),
        Command::Guest(arguments) => guest::run(&arguments),
        Command::Image { next: false } => print_images(&image::build(Products::Both)?),
        Command::Image { next: true } => print_images(&[image::build_next()?]),
        Command::Conformance(arguments) => conformance::run(&arguments),
        Command::Bench(Passed { arguments }) => program("xtask-bench", &arguments),
        Command::Codegen(Passed { arguments }) => {
            program("xtask-codegen", &[vec!["codegen".to_owned()], arguments].concat())
        }
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Advisories => advisories::run(),
        Command::Tidy => program("xtask-codegen", &["tidy".to_owned()]),
    }
}

fn print_images(archives: &[image::Archive]) -> Result<ExitCode> {
    for archive in archives {
        let megabytes = std::fs::metadata(&archive.path)?.len() / 1_000_000;
        println!("{}  {}  {megabytes} MB  {}", archive.reference, archive.digest, archive.path.display());
        println!("  what is in it: {}", archive.spdx.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a program of the workspace that few need, and that takes long to build.
fn program(package: &str, arguments: &[String]) -> Result<ExitCode> {
    let mut cargo = process::Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--manifest-path"]).arg(project::root().join("Cargo.toml"));
    let status =
        cargo.args(["--package", package, "--"]).args(arguments).status().context("cannot run cargo")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
