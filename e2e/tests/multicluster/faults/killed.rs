//! Controllers of the leader are killed in the middle of their work, one, or all at once: what they make in the end is
//! what a merge from scratch makes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use antrea_e2e::command::Run as _;
use antrea_e2e::install::{NAMESPACE, multicluster};
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::multicluster::cluster_set::COMMON_AREA;
use antrea_e2e::multicluster::nginx;
use antrea_e2e::patience::ensure_in_time;
use antrea_e2e::scenario::{Extent, Part};
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::replicas::{PODS, kill_in, set_replicas};
use super::super::restarts::{service, under_traffic};
use super::super::stage::{on_the_stage, on_the_stage_of, until};

/// Exported at once.
const SERVICES: usize = 100;

/// That many imports are there of a Service, one of it and one of its endpoints.
const IMPORTS: usize = 2;

/// After two replicas have died: a Lease lasts 15 s, and a container that ended is started again after 10 s.
const GAP: Duration = Duration::from_secs(40);

#[test]
fn a_leader_that_is_killed_in_the_middle_of_merging_loses_nothing() {
    on_the_stage_of(
        Extent::Long(Part::Three),
        "a_leader_that_is_killed_in_the_middle_of_merging_loses_nothing",
        |stage| {
            under_traffic(stage, || {
                let (leader, exporter) = (&stage.a()?.kubectl, &stage.b()?.kubectl);
                let before = imports(leader)?.len();
                let objects = (0..SERVICES).map(|number| format!("burst-{number}"));
                let objects = objects.flat_map(|name| [service(&name), nginx::export(&name)]);
                let objects: String = objects.map(|object| format!("---\n{object}\n")).collect();
                exporter.apply(&objects)?;
                for share in [10, SERVICES] {
                    until(&format!("{share} imports"), || {
                        let made = imports(leader)?.len() - before;
                        ensure!(made >= share, "there are {made}");
                        Ok(())
                    })?;
                    // The one that was killed before may be about to start.
                    until("a controller to be killed", || kill_in(stage, &leader.json(&PODS)?["items"][0]))?;
                }
                let all = before + SERVICES * IMPORTS;
                until(&format!("{all} imports, each as a merge from scratch makes it"), || {
                    let (made, wanted) = (imports(leader)?, merged(leader)?);
                    ensure!(made.len() == all, "there are {}", made.len());
                    for (name, spec) in &wanted {
                        ensure!(made.get(name) == Some(spec), "{name} is {:?}, not {spec}", made.get(name));
                    }
                    ensure!(wanted.len() == all, "a merge from scratch makes {}", wanted.len());
                    Ok(())
                })?;
                until("every export to be ready", || {
                    let exports = exporter.json(&["get", "serviceexports"])?;
                    let exports = exports["items"].as_array().cloned().unwrap_or_default();
                    let ready = exports.iter().filter(|export| is_ready(export)).count();
                    ensure!(ready > SERVICES && ready == exports.len(), "{ready} of {} are", exports.len());
                    Ok(())
                })?;
                exporter.command(&["delete", "-f", "-", "--wait=false"]).feed(&objects)?;
                until("the imports to go", || {
                    let left = imports(leader)?.len();
                    ensure!(left == before, "there are {left}, and were {before}");
                    Ok(())
                })
            })
        },
    );
}

#[test]
fn all_replicas_of_the_leader_may_die_at_once() {
    on_the_stage("all_replicas_of_the_leader_may_die_at_once", |stage| {
        let (leader, exporter) = (stage.a()?, stage.b()?);
        set_replicas(stage, leader, 2)?;
        under_traffic(stage, || {
            let pods = leader.kubectl.json(&PODS)?;
            let pods = pods["items"].as_array().context("there are no replicas")?;
            pods.iter().try_for_each(|pod| kill_in(stage, pod))?;
            let died = Instant::now();
            exporter.kubectl.apply(&format!("{}\n---\n{}", service("orphan"), nginx::export("orphan")))?;
            stage.wait_for_endpoints(
                "orphan",
                &[nginx::cluster_ip(&exporter.kubectl, "orphan")?.to_string()],
            )?;
            println!("all died: an export took {:.1?}", died.elapsed());
            ensure_in_time("the export", died.elapsed(), GAP)?;
            exporter.kubectl.text(&["delete", "serviceexport/orphan", "service/orphan"])?;
            stage.wait_for_endpoints("orphan", &[])
        })?;
        set_replicas(stage, leader, 1)
    });
}

fn is_ready(export: &Value) -> bool {
    let mut conditions = export["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// What the leader has made: ResourceImports of Services and their endpoints.
fn imports(leader: &Kubectl) -> Result<BTreeMap<String, Value>> {
    let imports = leader.json(&["get", "resourceimports", "-n", COMMON_AREA])?;
    Ok(imports["items"].as_array().into_iter().flatten().filter_map(of_service).collect())
}

/// What its program makes of the same exports when it knows nothing else.
fn merged(leader: &Kubectl) -> Result<BTreeMap<String, Value>> {
    let objects = ["get", "resourceexports,memberclusterannounces", "-n", COMMON_AREA, "-o", "yaml"];
    let objects = leader.text(&objects)?;
    let merge =
        ["exec", "-i", "-n", NAMESPACE, multicluster::DEPLOYMENT, "--", "antrea-mc-controller", "merge", "-"];
    let imports = leader.command(&merge).feed(&objects)?;
    let imports = imports.split("---\n").filter(|import| import.contains("kind: ResourceImport"));
    let read = |import| serde_saphyr::from_str::<Value>(import).context("no YAML");
    let imports = imports.map(read).collect::<Result<Vec<Value>>>()?;
    Ok(imports.iter().filter_map(of_service).collect())
}

fn of_service(import: &Value) -> Option<(String, Value)> {
    let is_of_service = matches!(import["spec"]["kind"].as_str(), Some("ServiceImport" | "Endpoints"));
    let name = import["metadata"]["name"].as_str()?;
    is_of_service.then(|| (name.to_owned(), import["spec"].clone()))
}
