//! `cargo xtask codegen` and `cargo xtask tidy`: what documents and charts say of the code, written and checked.

mod codegen;
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
    /// Write the parts of documents and charts that are data in the code.
    Codegen(codegen::Arguments),
    /// Check the rules that neither the compiler nor clippy knows.
    Tidy,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            problems.iter().for_each(|problem| println!("{problem}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What was found, one line each.
fn run(command: Command) -> Result<Vec<String>> {
    match command {
        Command::Codegen(arguments) => codegen::run(&arguments),
        Command::Tidy => tidy::problems(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_project_is_tidy() {
        let problems = super::tidy::problems().unwrap();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}
