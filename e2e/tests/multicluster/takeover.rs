//! Two clusters with what upstream's leader and one of its members left: our controllers start, nothing is made anew, and
//! nothing goes but the Endpoints that our EndpointSlices stand for, and labels of Pods, which are those of stretched policies.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_e2e::command::Run as _;
use antrea_e2e::install::{self, Product, multicluster};
use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::lab::Lab;
use antrea_e2e::multicluster::antctl::Antctl;
use antrea_e2e::multicluster::cluster_set::GATEWAY;
use antrea_e2e::names::{ClusterId, NodeId};
use antrea_e2e::plan::{Install, Request};
use antrea_e2e::scenario::{Extent, Part, product, request, with_lab};
use antrea_e2e::{state, wait};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::stage::until;

/// Upstream's Common Area with members c5 and c6.
const AREA: &str = include_str!("../../../multicluster/member/tests/golden/11-stretched-leader.yaml");
/// The objects of c5.
const MEMBER: &str = include_str!("../../../multicluster/member/tests/golden/11-stretched-member.yaml");

const AREA_NAMESPACE: &str = "antrea-multicluster";
const LEADER: ClusterId = ClusterId(1);
const C5: ClusterId = ClusterId(2);
const C5_NODE: NodeId = NodeId { cluster: C5, number: 1 };

/// What is looked at of the leader, and of the member.
const KINDS: [&str; 2] = [
    "clustersets,memberclusterannounces,resourceexports,resourceimports",
    "clustersets,gateways.multicluster.crd.antrea.io,clusterinfoimports,labelidentities,serviceexports,serviceimports,services",
];

#[test]
fn what_upstream_left_is_adopted_and_nothing_is_deleted() {
    let settings = ["c2:serviceCIDR=10.100.0.0/16", "c2:podCIDR=10.14.0.0/16"];
    let settings: Result<Vec<_>> = settings.iter().map(|setting| setting.parse()).collect();
    let request =
        Request { clusters: 2, nodes: 1, settings: settings.unwrap_or_default(), ..request(Install::Bridge) };
    with_lab(
        "what_upstream_left_is_adopted_and_nothing_is_deleted",
        Extent::Long(Part::One),
        &request,
        |lab| {
            let product = product()?;
            let (leader, member) = (lab.kubectl(LEADER)?, lab.kubectl(C5)?);
            for (cluster, kubectl) in [(LEADER, &leader), (C5, &member)] {
                install::load(&lab.plan().name, lab.plan().cluster(cluster)?, &product.multicluster.images)?;
                define_kinds(lab, &product, kubectl)?;
            }
            leave_what_upstream_leaves(lab, &leader, &member)?;
            let before = [uids(&leader, KINDS[0])?, uids(&member, KINDS[1])?];
            take_over(lab, &product, &leader, &member)?;
            wait_until_it_is_taken_over(&leader, &member)?;
            let after = [uids(&leader, KINDS[0])?, uids(&member, KINDS[1])?];
            for (before, after) in before.iter().zip(&after) {
                for (object, uid) in before {
                    ensure!(after.get(object) == Some(uid), "{object} is not the same any more: {after:?}");
                }
            }
            Ok(())
        },
    );
}

/// CustomResourceDefinitions of both products, without their controllers.
fn define_kinds(lab: &Lab, product: &Product, kubectl: &Kubectl) -> Result<()> {
    let all: &[&str] = &["--set", "mode=both"];
    for (chart, settings) in [(&product.chart, [].as_slice()), (&product.multicluster.chart, all)] {
        let mut helm = lab.programs().command("helm")?;
        helm.args(["template", "crds"])
            .arg(chart)
            .args(["--show-only", "templates/crds/*.yaml"])
            .args(settings);
        let definitions = helm.text()?;
        kubectl.command(&["create", "-f", "-"]).feed(&definitions)?;
    }
    let all = ["crd", "--all"];
    kubectl.wait("condition=Established", 60, &all)
}

fn leave_what_upstream_leaves(lab: &Lab, leader: &Kubectl, member: &Kubectl) -> Result<()> {
    leader.text(&["create", "namespace", AREA_NAMESPACE])?;
    member.text(&["create", "namespace", "shop"])?;
    let node = C5_NODE.to_string();
    member.text(&["annotate", "node", &node, &format!("{GATEWAY}=true")])?;
    let plan = lab.plan();
    let address = plan.node(C5_NODE)?.node_ips.v4.context("there is no IPv4")?.to_string();
    let server = plan.cluster(LEADER)?.api_url()?;
    let here = |recorded: &str| {
        recorded
            .replace("172.18.5.11", &address)
            .replace("c5n1", &node)
            .replace("https://172.18.4.1:6443", &server)
            // Conversion is our controller's, which is not there yet.
            .replace("multicluster.x-k8s.io/v1alpha1", "multicluster.x-k8s.io/v1beta1")
    };
    create(leader, &here(AREA))?;
    create(member, &here(MEMBER))
}

fn create(kubectl: &Kubectl, recorded: &str) -> Result<()> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(recorded).context("no YAML")?;
    // Kubernetes makes the EndpointSlices of Endpoints.
    let is_mirrored = |object: &Value| {
        object["kind"] == "EndpointSlice" && object["metadata"]["ownerReferences"].is_array()
    };
    for mut object in objects.into_iter().filter(|object| object.is_object() && !is_mirrored(object)) {
        let status = object.as_object_mut().and_then(|object| object.remove("status"));
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.retain(|name, _| {
                !["uid", "resourceVersion", "generation", "creationTimestamp"].contains(&name.as_str())
            });
        }
        kubectl.command(&["create", "-f", "-"]).feed(&object.to_string())?;
        if let Some(status) = status.filter(|_| object["kind"] != "Service") {
            let status = json!({ "status": status }).to_string();
            let mut patch =
                kubectl.command(&["patch", "--subresource=status", "--type=merge", "-p", &status, "-f", "-"]);
            patch.feed(&object.to_string())?;
        }
    }
    Ok(())
}

/// Installs our controllers in both clusters, with new credentials: those of upstream's cannot be recorded.
fn take_over(lab: &Lab, product: &Product, leader: &Kubectl, member: &Kubectl) -> Result<()> {
    let settings = ["mode=leader", "controller.leader.memberLease=30s"];
    install_controller(lab, product, leader, AREA_NAMESPACE, &settings)?;
    let token = state::folder(&lab.plan().name).join("tok5.yaml").display().to_string();
    let create = ["create", "membertoken", "tok5", "--cluster-id", "c5", "-n", AREA_NAMESPACE, "-o", &token];
    Antctl::new(&product.multicluster.programs, leader).text(&create)?;
    member.text(&["apply", "-n", install::NAMESPACE, "-f", &token])?;
    install_controller(lab, product, member, install::NAMESPACE, &["mode=member"])?;
    // The chart has asked the API server which Secret the ClusterSet names: the controller may read that one.
    let role = member.json(&["get", "role", "antrea-mc-controller", "-n", install::NAMESPACE])?;
    ensure!(role["rules"].to_string().contains("\"tok5\""), "the controller may not read tok5: {role}");
    Ok(())
}

fn install_controller(
    lab: &Lab,
    product: &Product,
    kubectl: &Kubectl,
    namespace: &str,
    settings: &[&str],
) -> Result<()> {
    let mut helm = lab.programs().command("helm")?;
    helm.args(["install", "antrea-mc", "--take-ownership", "--force-conflicts", "--namespace", namespace])
        .arg("--kubeconfig");
    helm.arg(kubectl.kubeconfig()).arg(&product.multicluster.chart).env("NO_PROXY", "*");
    helm.args(settings.iter().flat_map(|setting| ["--set", setting])).run()?;
    kubectl.rollout(namespace, multicluster::DEPLOYMENT, 120)
}

/// c5 is ready, its imports have EndpointSlices of ours instead of Endpoints, and c6, which nobody has taken over, has
/// lost its lease and nothing else.
fn wait_until_it_is_taken_over(leader: &Kubectl, member: &Kubectl) -> Result<()> {
    until("c5 to be ready", || ensure_ready(leader, "c5", "Connected"))?;
    let by_us = "endpointslice.kubernetes.io/managed-by=antrea-mc-controller.antrea.io";
    for service in ["antrea-mc-web", "antrea-mc-down"] {
        until(&format!("the endpoints of {service}"), || {
            let of_service = format!("{by_us},kubernetes.io/service-name={service}");
            let slices =
                member.text(&["get", "endpointslices", "-n", "shop", "-l", &of_service, "-o", "name"])?;
            let endpoints = ["get", "endpoints", service, "-n", "shop", "--ignore-not-found", "-o", "name"];
            let endpoints = member.text(&endpoints)?;
            ensure!(!slices.is_empty() && endpoints.is_empty(), "there are {slices:?} and {endpoints:?}");
            Ok(())
        })?;
    }
    wait::until(Duration::from_secs(150), "c6 to lose its lease", || {
        ensure_ready(leader, "c6", "LeaseExpired").map(|()| true)
    })
}

/// Why a member is ready or not.
fn ensure_ready(leader: &Kubectl, cluster: &str, reason: &str) -> Result<()> {
    let set = leader.json(&["get", "clusterset", "cs1", "-n", AREA_NAMESPACE])?;
    let mut members = set["status"]["clusterStatuses"].as_array().into_iter().flatten();
    let of_it = members.find(|member| member["clusterID"] == cluster).context("no such member")?;
    let mut conditions = of_it["conditions"].as_array().into_iter().flatten();
    let ready = conditions.find(|condition| condition["type"] == "Ready").context("no condition Ready")?;
    ensure!(ready["reason"] == reason, "{cluster} is {ready}");
    Ok(())
}

/// The UID of each object of these kinds, but Kubernetes' own Services, and labels of Pods: `enableStretchedNetworkPolicy` is off.
fn uids(kubectl: &Kubectl, kinds: &str) -> Result<BTreeMap<String, Value>> {
    let all = kubectl.json(&["get", kinds, "--all-namespaces"])?;
    let mut uids = BTreeMap::new();
    for object in all["items"].as_array().into_iter().flatten() {
        let metadata = &object["metadata"];
        let is_kubernetes = object["kind"] == "Service" && metadata["namespace"] != "shop";
        let are_labels = object["kind"] == "LabelIdentity" || object["spec"]["kind"] == "LabelIdentity";
        if !is_kubernetes && !are_labels {
            let name = format!("{} {}/{}", object["kind"], metadata["namespace"], metadata["name"]);
            uids.insert(name, metadata["uid"].clone());
        }
    }
    ensure!(!uids.is_empty(), "there are no {kinds}");
    Ok(uids)
}
