//! Many members at one leader: simulated by one process, `antrea-mc-bench`, each with a connection and a token of its own.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use antrea_e2e::wait;
use anyhow::{Context, Result, bail, ensure};

use super::clusters::{COMMON_AREA, Cluster, Clusters, LEADER_ID, SET};
use super::controller::{Controller, Endpoints};
use crate::policy::values;
use crate::{Figure, distribution};
use xtask::project;

pub(super) const SIMULATOR: &str = "antrea-mc-bench";

/// How many members there are, and how that is called.
pub(super) const SIZES: [(u32, &str); 5] =
    [(2, "Members2"), (10, "Members10"), (50, "Members50"), (100, "Members100"), (500, "Members500")];
/// Of each member.
const SERVICES: u32 = 10;
/// How long nothing but heartbeats happens.
const IDLE: Duration = Duration::from_secs(30);

/// A new leader, and so many members: what their heartbeats cost, how long it takes until each of them was told of all
/// that they export at once, and what that costs.
pub(super) fn measure(clusters: &Clusters, (size, workload): (u32, &str)) -> Result<Vec<Figure>> {
    let controller = Controller::start(&clusters.leader, Endpoints::ClusterIps)?;
    let workload = format!("multicluster/{workload}");
    let mut members = Members::join(&clusters.leader, size)?;
    let before = Used::by(&controller, &clusters.leader)?;
    let begun = Instant::now();
    wait::until(IDLE * 2, "nothing but heartbeats", || Ok(begun.elapsed() >= IDLE))?;
    let idle = Used::by(&controller, &clusters.leader)?;
    let said = members.export()?;
    let busy = Used::by(&controller, &clusters.leader)?;
    let mut figures = told(&workload, &said)?;
    figures.push(Figure::bytes(format!("{workload}/rss_bytes"), controller.resident()?));
    figures.extend(busy.since(&idle, &workload));
    figures.extend(idle.since(&before, &format!("{workload}Idle")));
    members.leave()?;
    controller.stop()?;
    Ok(figures)
}

/// What the members say of how they were told.
fn told(workload: &str, said: &str) -> Result<Vec<Figure>> {
    let mut figures = distribution(workload, values(said, "sample")?);
    let one = |figure: &str| {
        values(said, figure)?.pop().with_context(|| format!("{SIMULATOR} printed no {figure}"))
    };
    figures.push(Figure::seconds(format!("{workload}/seconds"), one("seconds")?));
    figures.push(Figure::count(format!("{workload}/count"), one("count")?));
    Ok(figures)
}

/// Processor time, in seconds.
struct Used {
    leader: f64,
    api_server: f64,
}

impl Used {
    fn by(controller: &Controller, leader: &Cluster) -> Result<Self> {
        Ok(Self { leader: controller.cpu_seconds()?, api_server: leader.api_server()?.cpu_seconds()? })
    }

    fn since(&self, earlier: &Self, workload: &str) -> [Figure; 2] {
        [
            Figure::seconds(format!("{workload}/cpu_seconds"), self.leader - earlier.leader),
            Figure::seconds(format!("{workload}ApiServer/cpu_seconds"), self.api_server - earlier.api_server),
        ]
    }
}

/// Members that have joined; killed when this is dropped.
struct Members {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
    /// None once they were told to leave.
    orders: Option<ChildStdin>,
}

impl Members {
    fn join(leader: &Cluster, size: u32) -> Result<Self> {
        let mut command = Command::new(project::programs().join(SIMULATOR));
        command.arg("--kubeconfig").arg(leader.kubeconfig());
        command.args(["--cluster-set", SET, "--leader", LEADER_ID, "--area", COMMON_AREA]);
        command.args(["--members", &size.to_string(), "--services", &SERVICES.to_string()]);
        command.env_remove("HTTPS_PROXY").env("NO_PROXY", "*");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot run {SIMULATOR}"))?;
        let said = BufReader::new(child.stdout.take().context("it has no output")?).lines();
        let orders = child.stdin.take();
        let mut members = Self { child, said, orders };
        members.listen_until("joined")?;
        Ok(members)
    }

    /// Lets them export: what they say of it.
    fn export(&mut self) -> Result<String> {
        self.orders.as_mut().context("they have left")?.write_all(b"export\n")?;
        self.listen_until("done")
    }

    /// Lets them leave, and waits until nothing of them is left in the leader.
    fn leave(mut self) -> Result<()> {
        drop(self.orders.take());
        let status = self.child.wait()?;
        ensure!(status.success(), "{SIMULATOR} ended with {status}");
        Ok(())
    }

    /// What is said before a line that is `last`.
    fn listen_until(&mut self, last: &str) -> Result<String> {
        let mut heard = String::new();
        for line in &mut self.said {
            let line = line?;
            if line == last {
                return Ok(heard);
            }
            heard.push_str(&line);
            heard.push('\n');
        }
        bail!("{SIMULATOR} ended before it said {last:?}")
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        // Those that have left leave nobody to kill.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_what_the_members_say() {
        let figures =
            told("multicluster/Members2", "seconds 0.5\nsample 0.25\nsample 0.125\ncount 1\n").unwrap();
        let text: Vec<String> =
            figures.iter().map(|figure| format!("{} {}{}", figure.name, figure.value, figure.unit)).collect();
        assert_eq!(
            text,
            [
                "multicluster/Members2/p50_seconds 0.125s",
                "multicluster/Members2/p99_seconds 0.25s",
                "multicluster/Members2/seconds 0.5s",
                "multicluster/Members2/count 1",
            ]
        );
        assert!(told("multicluster/Members2", "sample 0.25\n").is_err());
    }

    #[test]
    fn a_size_is_called_by_its_number() {
        for (size, workload) in SIZES {
            assert_eq!(workload, format!("Members{size}"));
        }
    }
}
