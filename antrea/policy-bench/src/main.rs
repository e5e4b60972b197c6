//! One workload of `cargo xtask bench policy`, in a process of its own so that its peak memory is its own.
//!
//! The workloads have the counts and shapes of upstream's own benchmarks. Objects come one by one, as from a decoder,
//! from a thread of their own, and are handed to the index; the clock runs from the first until each watcher of the API
//! server's store has its last event.

mod agent;
mod agents;
mod decoder;
mod events;
mod files;
mod memory;
mod objects;
mod query;
mod watched;
mod workloads;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use antrea_index::Index;
use anyhow::{Context, Result};
use clap::Parser;
use mimalloc::MiMalloc;

use watched::Watched;
use workloads::Workload;

/// As of antrea-controller.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[derive(Debug, Parser)]
struct Arguments {
    /// What is measured.
    workload: Workload,
    /// Beside the three watchers of everything, three for each of so many Nodes.
    #[arg(long, default_value_t = 0)]
    node_watchers: u32,
    /// Makes the objects, and nothing else: what of the figures is theirs.
    #[arg(long)]
    objects_only: bool,
    /// The API server of Kubernetes that ApiServer asks.
    #[arg(long, required_if_eq("workload", "ApiServer"))]
    kubernetes: Option<SocketAddr>,
}

/// Prints a line a figure: its name and its value, in seconds or bytes.
fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.workload {
        workload if arguments.objects_only => {
            let started = Instant::now();
            objects::make(workload, &mut |object, used| used.give_back(object));
            print("seconds", started.elapsed());
        }
        Workload::EndpointQuery => query::measure()?,
        Workload::EndpointAnswer => query::measure_answer()?,
        Workload::PodEvent => events::measure_pods()?,
        Workload::SyncAddressGroup => events::measure_group()?,
        Workload::UnionRule => agent::measure_union()?,
        Workload::BatchInstall => agent::measure_install()?,
        Workload::FileStore => files::measure()?,
        Workload::Agents1000 => agents::measure()?,
        Workload::ApiServer => agents::serve(arguments.kubernetes.context("whom does it ask?")?)?,
        workload => measure(workload, arguments.node_watchers)?,
    }
    Ok(())
}

fn measure(workload: Workload, node_watchers: u32) -> Result<()> {
    let watched = Watched::new(node_watchers)?;
    let started = Instant::now();
    let index = loaded(workload, &watched);
    print("seconds", started.elapsed());
    println!("peak_rss_bytes {}", memory::of(None, "VmHWM:")?);
    watched.report();
    // Nobody takes them apart: the process ends.
    std::mem::forget((index, watched));
    Ok(())
}

/// An index that was handed a workload, and the watchers told of all of it.
fn loaded(workload: Workload, watched: &Watched) -> Index {
    let mut index = Index::default();
    decoder::each_object(workload, |object| object.hand_to(&mut index));
    watched.publish_all(&mut index);
    index
}

fn print(figure: &str, time: Duration) {
    println!("{figure} {:.9}", time.as_secs_f64());
}
