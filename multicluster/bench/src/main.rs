//! The members of `cargo xtask bench multicluster`, simulated: as many as are wanted in one process, which do with the
//! API server of a leader what members do, and nothing with clusters of their own.
//!
//! ```text
//! stdout  joined     every member has announced itself, and watches
//! stdin   a line     all export their Services
//! stdout  figures    once every member has been told of every import; then `done`
//! stdin   its end    all leave, and what was made for them is removed
//! ```

mod accounts;
mod fleet;
mod member;
mod objects;
mod reader;
mod tally;
mod troubles;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use antrea_kit::kube_client::{Access, config};
use antrea_kit::open_files;
use anyhow::{Context, Result, ensure};
use clap::Parser;
use tokio::task::spawn_blocking;

use fleet::{Fleet, Size};
use objects::ClusterSet;
use tally::Tally;

#[derive(Debug, Parser)]
struct Arguments {
    /// Of an admin of the leader.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// The ClusterSet, which is there already.
    #[arg(long)]
    cluster_set: String,
    /// The ID of the leader.
    #[arg(long)]
    leader: String,
    /// The Namespace of the Common Area.
    #[arg(long)]
    area: String,
    /// How many members there are; each has 256 addresses of 10.0.0.0/8.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    members: u32,
    /// How many Services each of them exports.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=250))]
    services: u32,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    open_files::allow_most().context("every member has two connections, and so many are not allowed")?;
    let Arguments { kubeconfig, cluster_set, leader, area, members, services } = arguments;
    let access = Access { kubeconfig: Some(&kubeconfig), server: None, user_agent: "antrea-mc-bench" };
    let set = ClusterSet { name: cluster_set, leader, area };
    let (fleet, sights) = Fleet::join(config(access).await?, set, Size { members, services }).await?;
    println!("joined");
    ensure!(line().await? > 0, "nobody said that Services are to be exported");
    let (tally, asked) = fleet.export(sights).await?;
    report(&tally, &asked);
    println!("count {}\ndone", fleet.troubles.watches());
    ensure!(line().await? == 0, "something was said, and nothing is left to do but to leave");
    fleet.leave().await?;
    eprintln!("{}", fleet.troubles);
    Ok(())
}

/// Reads a line of standard input: how long it is.
async fn line() -> Result<usize> {
    Ok(spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await??)
}

fn report(tally: &Tally, asked: &[Instant]) {
    let print = |figure: &str, time: Duration| println!("{figure} {:.9}", time.as_secs_f64());
    tally.whole(asked).into_iter().for_each(|whole| print("seconds", whole));
    tally.delays(asked).into_iter().for_each(|delay| print("sample", delay));
}
