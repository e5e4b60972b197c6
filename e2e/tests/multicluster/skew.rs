//! Leaders and members of different versions: this one, and one that reads and writes a field more. Everything goes on,
//! whoever is the newer one, and nobody repeats what the other does not keep.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use antrea_e2e::install::{self, NAMESPACE, multicluster};
use antrea_e2e::multicluster::cluster_set::{COMMON_AREA, Member};
use antrea_e2e::multicluster::nginx::{self, IMPORTED, SERVICE};
use antrea_e2e::scenario::{Extent, PART_OF_TWO_VERSIONS};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::restarts::{service, under_traffic};
use super::stage::{Stage, on_the_stage_of, until, wait_for_condition};
use super::writes;

/// The newer version's image.
const NEXT: &str = "antrea/antrea-mc-controller:next";

/// What the newer version's CustomResourceDefinitions have beside: kinds and where the field stands in `spec`.
const FIELDS: [(&str, &str); 2] = [("resourceexports", "service"), ("resourceimports", "serviceImport")];

#[test]
fn leaders_and_members_of_this_version_and_the_next_work_together() {
    let name = "leaders_and_members_of_this_version_and_the_next_work_together";
    on_the_stage_of(Extent::Long(PART_OF_TWO_VERSIONS), name, |stage| {
        let (a, c, before) = (stage.a()?, stage.c()?, uids(stage)?);
        for member in stage.members() {
            let plan = stage.lab.plan();
            install::load(&plan.name, plan.cluster(member.cluster)?, &[next()?])?;
        }
        let own = image(c)?;
        under_traffic(stage, || {
            set_image(c, NEXT)?;
            exports_arrive(stage, "newer-member")?;
            ensure!(field(a, FIELDS[0])?.is_null(), "this version keeps a field that it does not know");
            ensure_nobody_repeats(a)?;

            // As its chart does it: definitions before programs.
            change_definitions(a, "add")?;
            set_image(a, NEXT)?;
            // C has not changed anything: what the leader did not keep before is sent once more.
            for (of, expected) in FIELDS.into_iter().zip(["from a member", "from the leader"]) {
                until(&format!("the field of {of:?}"), || {
                    let found = field(a, of)?;
                    ensure!(found == expected, "it is {found}");
                    Ok(())
                })?;
            }
            ensure_nobody_repeats(a)?;

            set_image(c, &own)?;
            exports_arrive(stage, "newer-leader")?;
            ensure_nobody_repeats(a)?;

            change_definitions(a, "remove")?;
            set_image(a, &own)?;
            exports_arrive(stage, "as-before")
        })?;
        let after = uids(stage)?;
        ensure!(after == before, "objects were made anew: {before:?} became {after:?}");
        Ok(())
    });
}

/// The archive with the newer version's image.
fn next() -> Result<PathBuf> {
    let archive = std::env::var_os("ANTREA_E2E_NEXT").filter(|path| !path.is_empty()).map(PathBuf::from);
    archive.context("ANTREA_E2E_NEXT names no archive; `cargo xtask image --next` writes it")
}

/// The image of the controller.
fn image(member: &Member) -> Result<String> {
    let path = "jsonpath={.spec.template.spec.containers[0].image}";
    member.kubectl.text(&["get", "-n", NAMESPACE, multicluster::DEPLOYMENT, "-o", path])
}

/// Another version. Not by Helm, which would put the definitions right.
fn set_image(member: &Member, image: &str) -> Result<()> {
    let image = format!("*={image}");
    member.kubectl.text(&["set", "image", "-n", NAMESPACE, multicluster::DEPLOYMENT, &image])?;
    member.kubectl.rollout(NAMESPACE, multicluster::DEPLOYMENT, 120)
}

/// What the newer version's chart does beside.
fn change_definitions(leader: &Member, operation: &str) -> Result<()> {
    for (kind, part) in FIELDS {
        let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        let path = format!("{properties}/{part}/properties/next");
        let patch = json!([{ "op": operation, "path": path, "value": { "type": "string" } }]).to_string();
        let definition = format!("crd/{kind}.multicluster.crd.antrea.io");
        leader.kubectl.text(&["patch", &definition, "--type=json", "-p", &patch])?;
    }
    Ok(())
}

/// A Service of B and C arrives everywhere, and goes.
fn exports_arrive(stage: &Stage, name: &str) -> Result<()> {
    let exporters = [stage.b()?, stage.c()?];
    let mut ips = BTreeSet::new();
    for exporter in exporters {
        exporter.kubectl.apply(&service(name).to_string())?;
        exporter.kubectl.apply(&nginx::export(name).to_string())?;
        ips.insert(nginx::cluster_ip(&exporter.kubectl, name)?.to_string());
    }
    let imported = format!("antrea-mc-{name}");
    let arrive = |expected| {
        let mut members = stage.members().iter();
        members.try_for_each(|member| nginx::wait_for_endpoints(&member.kubectl, &imported, expected))
    };
    arrive(&ips)?;
    for exporter in exporters {
        wait_for_condition(&exporter.kubectl, &["serviceexport", name], ("Ready", "True", None))?;
        exporter.kubectl.text(&["delete", &format!("serviceexport/{name}"), &format!("service/{name}")])?;
    }
    arrive(&BTreeSet::new())
}

/// The newer version's field in what C exports of the example, or in what the leader made of it.
fn field(leader: &Member, (kind, part): (&str, &str)) -> Result<Value> {
    let objects = leader.kubectl.json(&["get", kind, "-n", COMMON_AREA])?;
    let mut objects = objects["items"].as_array().into_iter().flatten();
    let is_it = |object: &&Value| {
        let spec = &object["spec"];
        let of_c = kind != "resourceexports" || spec["clusterID"] == "cluster-c";
        of_c && spec["name"] == SERVICE && spec[part].is_object()
    };
    let found = objects.find(is_it).with_context(|| format!("no {kind} of {SERVICE}"))?;
    Ok(found["spec"][part]["next"].clone())
}

/// While nothing changes nobody writes an export.
fn ensure_nobody_repeats(leader: &Member) -> Result<()> {
    writes::wait_for_quiet(&leader.kubectl, "PATCH resourceexports")
}

/// The imported objects of the example in each cluster.
fn uids(stage: &Stage) -> Result<BTreeMap<String, Value>> {
    let mut uids = BTreeMap::new();
    for member in stage.members() {
        for object in [format!("service/{IMPORTED}"), format!("serviceimport/{SERVICE}")] {
            let found = member.kubectl.json(&["get", &object])?;
            uids.insert(format!("{} {object}", member.id()), found["metadata"]["uid"].clone());
        }
        let others = member.kubectl.json(&["get", "clusterinfoimports", "-n", NAMESPACE])?;
        for other in others["items"].as_array().into_iter().flatten() {
            let metadata = &other["metadata"];
            uids.insert(format!("{} {}", member.id(), metadata["name"]), metadata["uid"].clone());
        }
    }
    Ok(uids)
}
