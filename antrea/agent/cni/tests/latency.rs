//! How long ADD and DEL take on an idle Node, and when many Pods come at once: printed, not asserted.

use std::time::{Duration, Instant};

use crate::node::{Agent, config, on_node};
use crate::pod::Pod;

const ROUNDS: usize = 50;
const BURST: usize = 60;

#[test]
fn the_time_of_add_and_del_is_printed() {
    on_node(&["10.10.0.0/24", "fd00:10:10::/64"], async move |node| {
        let agent = node.agent().await;
        let config = config("1.0.0", "");
        let (mut adds, mut dels) = (Vec::new(), Vec::new());
        // All sandboxes are there until the end: the kernel has much to do when one goes.
        let pods = pods(ROUNDS);
        for pod in &pods {
            adds.push(add(&agent, pod, &config).await);
            let start = Instant::now();
            agent.del_once(pod).await.unwrap();
            dels.push(start.elapsed());
            // Idle again: the kernel is done with the link when the container is unlocked.
            agent.del_once(pod).await.unwrap();
        }
        println!(
            "ADD p50 {:?}, DEL p50 {:?} of {ROUNDS}",
            percentile(&mut adds, 50),
            percentile(&mut dels, 50)
        );
    });
}

#[test]
fn the_time_of_adds_that_come_at_once_is_printed() {
    on_node(&["10.10.0.0/24", "fd00:10:10::/64"], async move |node| {
        let agent = node.agent().await;
        tokio::spawn(agent.follow_port_numbers());
        let config = config("1.0.0", "");
        let pods = pods(BURST);
        let (start, before) = (Instant::now(), cpu());
        let adds = pods.iter().map(|pod| add(&agent, pod, &config));
        let mut adds = futures::future::join_all(adds).await;
        let (took, used) = (start.elapsed(), cpu() - before);
        println!(
            "{BURST} ADDs at once: p50 {:?}, p99 {:?}, all {took:?}, {:?} CPU each",
            percentile(&mut adds, 50),
            percentile(&mut adds, 99),
            used / u32::try_from(BURST).unwrap()
        );
    });
}

fn pods(count: usize) -> Vec<Pod> {
    (0..count).map(|round| Pod::new("latency", &format!("c{round}"))).collect()
}

async fn add(agent: &Agent, pod: &Pod, config: &str) -> Duration {
    let start = Instant::now();
    agent.add(pod, config).await.unwrap();
    start.elapsed()
}

/// User and system time of this process, the agent and its client, in ticks of 10 ms (proc_pid_stat(5)).
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(10 * ticks)
}

/// By nearest rank.
fn percentile(durations: &mut [Duration], percent: usize) -> Duration {
    durations.sort_unstable();
    durations[(durations.len() * percent).div_ceil(100).saturating_sub(1)]
}
