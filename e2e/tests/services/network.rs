//! Network namespaces of a lab that tests speak from: those of Pods, Nodes and the outside. No program is started in
//! them; sockets are made there.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use antrea_e2e::lab::Lab;
use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::processes::{self, namespace_path};
use antrea_e2e::{namespace, wait};
use anyhow::{Context, Result};

#[derive(Debug, Clone)]
pub(crate) struct Network {
    pub(crate) name: String,
    path: PathBuf,
}

impl Network {
    pub(crate) fn of_place(lab: &Lab, place: Place) -> Result<Self> {
        let namespace = lab.plan().namespace(place)?;
        Ok(Self { name: place.to_string(), path: namespace_path(&namespace) })
    }

    /// That of a Pod of netexec, found by its processes: a container knows its Pod's name, and its parent is a program
    /// of the Node.
    pub(crate) fn of_pod(lab: &Lab, node: NodeId, pod: &str) -> Result<Self> {
        let on_node = lab.plan().namespace(Place::Node(node))?;
        wait::eventually(Duration::from_secs(20), &format!("processes of Pod {pod}"), || {
            let parents: BTreeSet<i32> =
                processes::in_namespace(&on_node)?.iter().map(|process| process.pid).collect();
            let all = processes::all()?;
            let here = all.iter().filter(|process| parents.contains(&process.parent));
            let pid = here.map(|process| process.pid).find(|pid| is_of_pod(*pid, pod));
            Ok(pid.map(|pid| Self { name: pod.to_owned(), path: format!("/proc/{pid}/ns/net").into() }))
        })
    }

    /// Does `work` there.
    pub(crate) fn within<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        namespace::within(&self.path, work).with_context(|| format!("from {}", self.name))
    }
}

fn is_of_pod(pid: i32, pod: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let name = format!("HOSTNAME={pod}");
    environment.split(|byte| *byte == 0).any(|variable| variable == name.as_bytes())
}
