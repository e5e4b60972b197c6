//! How long ADD and DEL take on an idle Node: printed, not asserted.

use std::time::{Duration, Instant};

use crate::node::{config, on_node};
use crate::pod::Pod;

const ROUNDS: usize = 50;

#[test]
fn the_time_of_add_and_del_is_printed() {
    on_node(&["10.10.0.0/24", "fd00:10:10::/64"], async move |node| {
        let agent = node.agent().await;
        let config = config("1.0.0", "");
        let (mut adds, mut dels) = (Vec::new(), Vec::new());
        // All sandboxes are there until the end: the kernel has much to do when one goes.
        let pods: Vec<Pod> = (0..ROUNDS).map(|round| Pod::new("latency", &format!("c{round}"))).collect();
        for pod in &pods {
            let start = Instant::now();
            agent.add(pod, &config).await.unwrap();
            adds.push(start.elapsed());
            let start = Instant::now();
            agent.del_once(pod).await.unwrap();
            dels.push(start.elapsed());
            // Idle again: the kernel is done with the link when the container is unlocked.
            agent.del_once(pod).await.unwrap();
        }
        println!("ADD p50 {:?}, DEL p50 {:?} of {ROUNDS}", median(&mut adds), median(&mut dels));
    });
}

fn median(durations: &mut [Duration]) -> Duration {
    durations.sort_unstable();
    durations[durations.len() / 2]
}
