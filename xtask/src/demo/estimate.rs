//! How long a demo still takes: what is not built yet, each with the time that it takes on two cores.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use antrea_e2e::patience;
use antrea_e2e::preflight::cache;
use xtask::project;

/// What a demo waits for, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Antrea,
    Kubernetes,
    Images,
    Clusters,
}

/// The parts that are left, with the time that each takes here.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Estimate(Vec<(Part, Duration)>);

impl Estimate {
    /// For a machine as it is: slow ones take longer, and what is built already takes no time.
    pub(super) fn of_this_machine(clusters: u32) -> Self {
        let antrea = project::programs().join("antrea-agent");
        Self::of(clusters, patience::slowness(), |part| match part {
            Part::Antrea => Path::exists(&antrea),
            Part::Kubernetes => cache::has("kubernetes"),
            Part::Images => cache::has("images"),
            Part::Clusters => false,
        })
    }

    fn of(clusters: u32, slowness: f64, is_there: impl Fn(Part) -> bool) -> Self {
        // Seconds on two cores with empty caches.
        let parts = [(Part::Antrea, 290), (Part::Kubernetes, 290), (Part::Images, 10)];
        let left = parts.into_iter().filter(|(part, _)| !is_there(*part));
        let clusters = (Part::Clusters, 10 + 10 * clusters);
        // Builds wait for memory and disk, too: where the sample took three times as long, they took 1.7 times.
        let time = |seconds| Duration::from_secs(u64::from(seconds)).mul_f64(slowness.sqrt());
        Self(left.chain([clusters]).map(|(part, seconds)| (part, time(seconds))).collect())
    }

    /// A part begins: those before it are over.
    pub(super) fn begin(&mut self, part: Part) {
        let before = self.0.len();
        self.0.retain(|(left, _)| *left >= part);
        if part == Part::Antrea || self.0.len() < before {
            println!("{self}");
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Antrea => "building Antrea",
            Self::Kubernetes => "building Kubernetes",
            Self::Images => "images of Pods",
            Self::Clusters => "clusters and Pods",
        })
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = |time: Duration| time.as_secs().div_ceil(60);
        let all: Duration = self.0.iter().map(|(_, time)| *time).sum();
        let parts: Vec<String> =
            self.0.iter().map(|(part, time)| format!("{part} {} min", minutes(*time))).collect();
        write!(f, "About {} min left: {}", minutes(all), parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_takes_no_time_and_a_slow_machine_takes_longer() {
        let estimate =
            |slowness, there: &[Part]| Estimate::of(1, slowness, |part| there.contains(&part)).to_string();
        assert_eq!(
            estimate(1.0, &[]),
            "About 11 min left: building Antrea 5 min, building Kubernetes 5 min, images of Pods 1 min, clusters and Pods 1 min"
        );
        assert_eq!(
            estimate(4.0, &[Part::Antrea, Part::Images]),
            "About 11 min left: building Kubernetes 10 min, clusters and Pods 1 min"
        );
    }

    #[test]
    fn what_is_over_is_not_left() {
        let mut estimate = Estimate::of(3, 1.0, |part| part == Part::Kubernetes);
        estimate.begin(Part::Kubernetes);
        assert_eq!(estimate.to_string(), "About 1 min left: images of Pods 1 min, clusters and Pods 1 min");
        estimate.begin(Part::Images);
        assert_eq!(estimate.to_string(), "About 1 min left: images of Pods 1 min, clusters and Pods 1 min");
    }
}
