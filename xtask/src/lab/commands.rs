//! The commands on a lab that is up.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use antrea_e2e::lab::Lab;
use antrea_e2e::names::{ClusterId, LabName, NodeId, Place};
use antrea_e2e::progress::step;
use antrea_e2e::{
    cleanup, exec as place_exec, logs as lab_logs, node, partition as cuts, preflight, programs, state,
    status as health,
};
use anyhow::{Context, Result};

use super::Output;
use xtask::product;

/// Ends with 0 only when all of the lab works.
pub(super) fn status(name: &LabName, output: Output) -> Result<ExitCode> {
    let status = health::read(name)?;
    match output {
        Output::Text => say(&status)?,
        Output::Json => {
            say(&serde_json::to_string_pretty(&status).context("the status cannot be written as JSON")?)?;
        }
    }
    Ok(if status.is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(super) fn down(name: &LabName) -> Result<ExitCode> {
    preflight::check_root()?;
    let removed = step(&format!("taking lab {name} down"), || cleanup::remove(name))?;
    if removed == 0 {
        eprintln!("There is no lab {name}");
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn kubeconfig(name: &LabName, cluster: ClusterId) -> Result<ExitCode> {
    Lab::open(name)?.plan().cluster(cluster)?;
    say(&state::kubeconfig(name, cluster).display())?;
    Ok(ExitCode::SUCCESS)
}

/// Becomes the command, so that signals, stdio and the exit code are the command's own.
pub(super) fn exec(name: &LabName, place: Place, arguments: &[OsString]) -> Result<ExitCode> {
    let mut command = place_exec::command(&Lab::open(name)?, place, arguments)?;
    Err(command.exec()).context("cannot run nsenter")
}

pub(super) fn partition(name: &LabName, a: Place, b: Place) -> Result<ExitCode> {
    cuts::cut(Lab::open(name)?.plan(), a, b)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn heal(name: &LabName, a: Place, b: Place) -> Result<ExitCode> {
    cuts::heal(Lab::open(name)?.plan(), a, b)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn load_image(name: &LabName, only: Option<NodeId>, archives: &[PathBuf]) -> Result<ExitCode> {
    let lab = Lab::open(name)?;
    let nodes: Vec<NodeId> = match only {
        Some(node) => vec![lab.plan().node(node)?.id],
        None => {
            lab.plan().clusters.iter().flat_map(|cluster| cluster.nodes.iter().map(|node| node.id)).collect()
        }
    };
    step(&format!("loading {} archive(s) on {} Node(s)", archives.len(), nodes.len()), || {
        antrea_e2e::progress::all_at_once(&nodes, |node| node::import_images(name, *node, archives))
    })?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn logs(name: &LabName, place: Option<Place>, lines: usize) -> Result<ExitCode> {
    let lab = Lab::open(name)?;
    let places = place.map_or_else(|| lab.plan().places(), |place| vec![place]);
    for place in places {
        for log in lab_logs::read(lab.plan(), place, lines)? {
            say(&format_args!("==> {place}: {}\n{}\n", log.path.display(), log.tail))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn tool(name: &str) -> Result<ExitCode> {
    let path = match product::TOOLS.contains(&name) {
        true => product::build_tools()?.join(name),
        false => programs::ensure_built()?.path(name)?,
    };
    say(&path.display())?;
    Ok(ExitCode::SUCCESS)
}

/// Whoever reads our output may stop reading: that is an error, not a panic.
fn say(text: &dyn fmt::Display) -> Result<()> {
    writeln!(io::stdout(), "{text}").context("cannot write to standard output")
}
