//! Pods of a check: made, waited for, their logs read.

use std::net::IpAddr;
use std::time::Duration;

use antrea_kit::kube_client::{bounded, create};
use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};
use kube::api::{ListParams, LogParams};
use kube::{Api, Client, ResourceExt};
use tokio::time::{Instant, sleep};

use super::pod_spec::PodSpec;

const FIELD_MANAGER: &str = "antctl";
/// For a Pod to start or to end; its image may have to be fetched.
const PATIENCE: Duration = Duration::from_secs(60);

/// How far a container is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not there yet, for this reason.
    Waiting(String),
    Running,
    Ended,
}

/// The Pods of one Namespace.
pub(super) struct TestPods {
    api: Api<Pod>,
}

impl TestPods {
    pub(super) fn new(client: &Client, namespace: &str) -> Self {
        Self { api: Api::namespaced(client.clone(), namespace) }
    }

    pub(super) async fn create(&self, specs: &[PodSpec<'_>]) -> Result<()> {
        for spec in specs {
            create(&self.api, &spec.manifest()?, FIELD_MANAGER).await?;
        }
        Ok(())
    }

    /// Waits until `container` of every Pod is in a state, and returns those Pods in order of their names. After a
    /// minute: those that are, and why the others are not.
    pub(super) async fn wait(
        &self,
        names: &[String],
        container: &str,
        wanted: &State,
    ) -> Result<(Vec<Pod>, Vec<(String, String)>)> {
        let end = Instant::now() + PATIENCE;
        loop {
            let pods =
                bounded(self.api.list(&ListParams::default())).await.context("cannot list Pods")?.items;
            let (ready, others) = sort(&pods, names, container, wanted);
            if all_ended(&pods, &others, container) || Instant::now() > end {
                return Ok((ready, others));
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    pub(super) async fn log(&self, pod: &str, container: &str) -> Result<String> {
        let parameters = LogParams { container: Some(container.to_owned()), ..LogParams::default() };
        bounded(self.api.logs(pod, &parameters)).await.with_context(|| {
            format!("cannot read the log of Pod {pod}: does the API server reach port 10250 of its Node?")
        })
    }
}

/// Whether nothing is worth waiting for: a container that ended is not started again.
fn all_ended(pods: &[Pod], others: &[(String, String)], container: &str) -> bool {
    let pod = |name: &str| pods.iter().find(|pod| pod.name_any() == name);
    others.iter().all(|(name, _)| pod(name).is_some_and(|pod| ended(pod, container).is_some()))
}

type Sorted = (Vec<Pod>, Vec<(String, String)>);

/// Those Pods in the wanted state, or beyond; the others with what they wait for.
fn sort(pods: &[Pod], names: &[String], container: &str, wanted: &State) -> Sorted {
    let mut ready = Vec::new();
    let mut others = Vec::new();
    for name in names {
        match pods.iter().find(|pod| pod.name_any() == *name) {
            None => others.push((name.clone(), "it does not exist".to_owned())),
            Some(pod) => match state(pod, container) {
                State::Waiting(reason) => others.push((name.clone(), reason)),
                State::Running if addresses(pod).is_empty() => {
                    others.push((name.clone(), "it has no address".to_owned()));
                }
                // antctl ends well whatever it found: else it did not run.
                is if is == *wanted && exit_code(pod, container) == 0 => ready.push(pod.clone()),
                State::Running => others.push((name.clone(), "it does not end".to_owned())),
                State::Ended => others.push((name.clone(), ending(pod, container))),
            },
        }
    }
    (ready, others)
}

fn status<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    statuses.iter().find(|status| status.name == container)
}

fn state(pod: &Pod, container: &str) -> State {
    let Some(state) = status(pod, container).and_then(|status| status.state.as_ref()) else {
        return State::Waiting("the kubelet of its Node has not taken it up".to_owned());
    };
    match (&state.running, &state.terminated, &state.waiting) {
        (Some(_), _, _) => State::Running,
        (_, Some(_), _) => State::Ended,
        (_, _, Some(waiting)) => {
            let parts = [waiting.reason.clone(), waiting.message.clone()];
            State::Waiting(parts.into_iter().flatten().collect::<Vec<_>>().join(": "))
        }
        _ => State::Waiting("it is about to start".to_owned()),
    }
}

fn ended<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStateTerminated> {
    status(pod, container)?.state.as_ref()?.terminated.as_ref()
}

/// 0 also while it runs.
fn exit_code(pod: &Pod, container: &str) -> i32 {
    ended(pod, container).map_or(0, |end| end.exit_code)
}

/// How a container ended that should not have, or not like this.
fn ending(pod: &Pod, container: &str) -> String {
    match ended(pod, container) {
        Some(end) => format!(
            "it ended with exit code {}: {}",
            end.exit_code,
            end.message.as_deref().or(end.reason.as_deref()).unwrap_or("no reason is given")
        ),
        None => "it ended".to_owned(),
    }
}

/// The addresses of a Pod.
pub(super) fn addresses(pod: &Pod) -> Vec<IpAddr> {
    let ips = pod.status.as_ref().and_then(|status| status.pod_ips.as_ref());
    ips.into_iter().flatten().filter_map(|ip| ip.ip.parse().ok()).collect()
}

/// An error that names every Pod that did not start.
pub(super) fn ensure_started(others: &[(String, String)]) -> Result<()> {
    let list: Vec<String> = others.iter().map(|(name, why)| format!("\n  Pod {name}: {why}")).collect();
    if list.is_empty() {
        return Ok(());
    }
    bail!(
        "Pods of the tests did not start within {} s:{}\n  Fix: look at the log of antrea-agent on their Nodes; \
         where the image is at fault, --test-image names another, which has to have antctl in it",
        PATIENCE.as_secs(),
        list.concat()
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, state: &Value) -> Pod {
        let status = json!([{ "name": "probe", "state": state, "image": "", "imageID": "", "ready": true, "restartCount": 0 }]);
        let pod = json!({
            "metadata": { "name": name },
            "status": { "podIPs": [{ "ip": "10.0.0.1" }], "containerStatuses": status },
        });
        serde_json::from_value(pod).unwrap()
    }

    fn check(state: &Value, wanted: &State) -> String {
        let (ready, others) = sort(&[pod("a", state)], &["a".to_owned()], "probe", wanted);
        let ready = ready.iter().map(|pod| format!("{}: there", pod.name_any()));
        ready.chain(others.iter().map(|(name, why)| format!("{name}: {why}"))).collect()
    }

    #[test]
    fn a_container_that_ended_badly_is_not_waited_for() {
        let pods =
            [pod("a", &json!({ "terminated": { "exitCode": 128 } })), pod("b", &json!({ "running": {} }))];
        let waits_for = |names: &[&str]| {
            let others: Vec<_> = names.iter().map(|name| ((*name).to_owned(), String::new())).collect();
            !all_ended(&pods, &others, "probe")
        };
        assert!(!waits_for(&[]) && !waits_for(&["a"]));
        assert!(waits_for(&["a", "b"]) && waits_for(&["c"]));
    }

    #[test]
    fn a_pod_is_waited_for_until_it_is_as_wanted() {
        let running = || json!({ "running": {} });
        let ended = || json!({ "terminated": { "exitCode": 0, "reason": "Completed" } });
        let failed = json!({ "terminated": { "exitCode": 128, "message": "no antctl" } });
        let waiting = json!({ "waiting": { "reason": "ErrImagePull", "message": "no such host" } });
        assert_eq!(check(&running(), &State::Running), "a: there");
        assert_eq!(check(&running(), &State::Ended), "a: it does not end");
        assert_eq!(check(&ended(), &State::Ended), "a: there");
        assert_eq!(check(&ended(), &State::Running), "a: it ended with exit code 0: Completed");
        assert_eq!(check(&failed, &State::Ended), "a: it ended with exit code 128: no antctl");
        assert_eq!(check(&waiting, &State::Running), "a: ErrImagePull: no such host");
        assert_eq!(check(&Value::Null, &State::Running), "a: the kubelet of its Node has not taken it up");
        assert_eq!(sort(&[], &["b".into()], "probe", &State::Running).1[0].1, "it does not exist");
    }
}
