//! One workload of `cargo xtask bench policy`, in a process of its own so that its peak memory is its own.
//!
//! The workloads have the counts and shapes of upstream's own benchmarks. Objects are made one by one, as a decoder
//! would, in a thread of their own, and handed to the index; the clock runs from the first until each kind's consumer
//! has its last update.
//! Consumers are plain receivers of updates, since there is no store of the API server yet.

mod consumers;
mod decoder;
mod events;
mod objects;
mod query;
mod workloads;

use std::fs;
use std::time::{Duration, Instant};

use antrea_index::Index;
use anyhow::{Context, Result};
use clap::Parser;

use consumers::Consumers;
use workloads::Workload;

#[derive(Debug, Parser)]
struct Arguments {
    /// What is measured.
    workload: Workload,
    /// Beside the three consumers of everything, three for each of so many Nodes.
    #[arg(long, default_value_t = 0)]
    node_watchers: u32,
    /// Makes the objects, and nothing else: what of the figures is theirs.
    #[arg(long)]
    objects_only: bool,
}

/// Prints a line a figure: its name and its value, in seconds or bytes.
fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.workload {
        workload if arguments.objects_only => {
            let started = Instant::now();
            objects::make(workload, &mut drop);
            print("seconds", started.elapsed());
        }
        Workload::EndpointQuery => query::measure(),
        Workload::PodEvent => events::measure_pods(),
        Workload::SyncAddressGroup => events::measure_group(),
        workload => measure(workload, arguments.node_watchers)?,
    }
    Ok(())
}

fn measure(workload: Workload, node_watchers: u32) -> Result<()> {
    let mut consumers = Consumers::new(node_watchers);
    let started = Instant::now();
    let index = loaded(workload, &mut consumers);
    print("seconds", started.elapsed());
    let peak = peak_resident()?;
    println!("peak_rss_bytes {peak}");
    consumers.report();
    // Nobody takes an index apart: the process ends.
    std::mem::forget(index);
    Ok(())
}

/// An index that was handed a workload and told of all of it.
fn loaded(workload: Workload, consumers: &mut Consumers) -> Index {
    let mut index = Index::default();
    decoder::each_object(workload, |object| object.hand_to(&mut index));
    index.settle(|update| consumers.take(&update));
    index
}

fn print(figure: &str, time: Duration) {
    println!("{figure} {:.9}", time.as_secs_f64());
}

/// VmHWM of this process, in bytes.
fn peak_resident() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("there is no VmHWM")?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().context("VmHWM cannot be read")?;
    Ok(kibibytes * 1024)
}
