//! `cargo xtask COMMAND`: everything that is done with this project, one command each.

mod bench;
mod codegen;
mod conformance;
mod demo;
mod guest;
mod image;
mod lab;
mod own_lab;
mod product;
mod project;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
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
        /// Only that of a Multi-cluster controller with a field more, for tests of version skew.
        #[arg(long)]
        next: bool,
    },
    /// Run a command under a kernel that has Open vSwitch's module, with the files of this machine.
    Guest(guest::Arguments),
    /// Run a public suite on a lab.
    Conformance(conformance::Arguments),
    /// Measure, one line a figure.
    Bench(bench::Arguments),
    /// Write the parts of documents and charts that are data in the code.
    Codegen(codegen::Arguments),
    /// Check the rules that neither the compiler nor clippy knows.
    Tidy,
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
        Command::Image { next: false } => print_images(&image::build()?),
        Command::Image { next: true } => print_images(&[image::build_next()?]),
        Command::Conformance(arguments) => conformance::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Codegen(arguments) => codegen::run(&arguments),
        Command::Tidy => print_problems(&tidy::problems()?),
    }
}

fn print_images(archives: &[image::Archive]) -> Result<ExitCode> {
    for archive in archives {
        let megabytes = std::fs::metadata(&archive.path)?.len() / 1_000_000;
        println!("{}  {}  {megabytes} MB  {}", archive.reference, archive.digest, archive.path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn print_problems(problems: &[String]) -> Result<ExitCode> {
    for problem in problems {
        println!("{problem}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
