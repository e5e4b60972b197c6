//! Running a program in a place of a lab as if it had been started there.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result};

use crate::lab::Lab;
use crate::names::Place;
use crate::node;
use crate::state;
use crate::topology::in_namespace;

/// The command that runs `arguments` in a place: on a Node in all of its namespaces, elsewhere in the network
/// namespace. In a cluster and on its Nodes, kubectl and the other Kubernetes programs are on PATH and talk to it.
///
/// # Errors
/// When there is no such place, it does not run, or `arguments` is empty.
pub fn command(lab: &Lab, place: Place, arguments: &[OsString]) -> Result<Command> {
    let name = &lab.plan().name;
    let namespace = lab.plan().namespace(place)?;
    let (program, rest) = arguments.split_first().context("there is no command to run")?;
    let mut command = match place {
        Place::Node(node) => node::command_on(name, node, program)?,
        Place::Router | Place::Outside | Place::Cluster(_) => in_namespace(&namespace, program),
    };
    command.args(rest);
    if let Some(cluster) = place.cluster() {
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let folders =
            [lab.programs().folder().to_owned()].into_iter().chain(std::env::split_paths(&inherited));
        command.env("PATH", std::env::join_paths(folders).context("PATH has a folder with ':' in its name")?);
        command.env("KUBECONFIG", state::kubeconfig(name, cluster)).env("NO_PROXY", "*");
    }
    Ok(command)
}
