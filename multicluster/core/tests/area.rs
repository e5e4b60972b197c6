//! A Common Area: takes ResourceExports as YAML, and prints what comes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use antrea_mc_core::addresses::{Claim, Claims, EndpointAddresses, GatewayBindings, PodConnectivity};
use antrea_mc_core::common_area::{CommonArea, Outcome, Surroundings};
use antrea_mc_core::conflict::ConflictCondition;
use antrea_mc_core::export::Export;
use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::label_identity::LabelIdentities;
use antrea_mc_core::names::Names;
use antrea_shared_api::multicluster::v1alpha1::ResourceExport;
use serde_json::{Value, json};

pub(crate) struct Area {
    area: CommonArea,
    pub(crate) withdrawn: BTreeSet<ClusterId>,
    /// All exporters are members, and have been for as long as they like, unless it is said otherwise.
    pub(crate) joined: BTreeMap<ClusterId, jiff::Timestamp>,
    pub(crate) claims: Claims,
    pub(crate) labels: LabelIdentities,
}

impl Area {
    pub(crate) fn of(exports: &[String]) -> Self {
        let mut area = Self {
            area: CommonArea::default(),
            withdrawn: BTreeSet::new(),
            joined: BTreeMap::new(),
            claims: Claims::default(),
            labels: LabelIdentities::default(),
        };
        exports.iter().for_each(|export| area.apply(export));
        area
    }

    pub(crate) fn apply(&mut self, yaml: &str) {
        let object: ResourceExport =
            serde_saphyr::from_str(yaml).map_err(|error| format!("{error}: {yaml}")).unwrap();
        if let Ok(cluster) = object.spec.cluster_id.parse() {
            self.joined.entry(cluster).or_insert(jiff::Timestamp::UNIX_EPOCH);
        }
        self.area.apply(&object);
    }

    pub(crate) fn delete(&mut self, name: &str) {
        self.area.delete(name);
    }

    /// What comes of all exports.
    pub(crate) fn text(&self) -> String {
        let surroundings = Surroundings {
            withdrawn: &self.withdrawn,
            joined: &self.joined,
            claims: &self.claims,
            labels: &self.labels,
            namespace: "antrea-multicluster",
        };
        let mut text = String::new();
        for resource in self.area.resources() {
            let name = Names::of_import(resource).plain;
            print(&mut text, &name, &self.area.merge(resource, &surroundings)).unwrap();
        }
        for (name, problem) in self.area.useless() {
            writeln!(text, "{name}: {problem}").unwrap();
        }
        text
    }
}

/// Claims of Service CIDRs, the oldest first.
pub(crate) fn service_cidrs(claims: &[(&str, &str)]) -> Claims {
    let export = |(age, (cluster, cidr)): (i64, &(&str, &str))| Export {
        cluster: cluster.parse().unwrap(),
        created: jiff::Timestamp::from_second(age).unwrap(),
        payload: Claim::new(
            &[cidr.parse().unwrap()],
            &[],
            EndpointAddresses::ClusterIps,
            PodConnectivity::Off,
        ),
    };
    let claims: Vec<Export<Claim>> = (0..).zip(claims).map(export).collect();
    Claims::settle(&claims.iter().collect::<Vec<_>>(), &[], &[], &GatewayBindings::default()).0
}

fn print(text: &mut String, name: &str, outcome: &Outcome) -> std::fmt::Result {
    match &outcome.import {
        None => writeln!(text, "no {name}")?,
        Some(import) => {
            writeln!(text, "{name} {} {}/{}", import.kind, import.namespace, import.name)?;
            let Value::Object(payload) = json!(import) else { return Err(std::fmt::Error) };
            for (key, value) in
                payload.iter().filter(|(key, _)| !["kind", "name", "namespace"].contains(&key.as_str()))
            {
                print_value(text, key, value)?;
            }
        }
    }
    for (exporter, verdict) in &outcome.exporters {
        let refused =
            verdict.refused.as_ref().map_or("taken".to_owned(), |reason| format!("refused: {reason}"));
        writeln!(text, "  {exporter} {refused}")?;
        verdict.problems.iter().try_for_each(|problem| writeln!(text, "    without {problem}"))?;
        verdict.addresses.iter().try_for_each(|address| writeln!(text, "    without {address}"))?;
    }
    let conflicts =
        outcome.exporters.values().map(|verdict| &verdict.conflicts).find(|conflicts| !conflicts.is_empty());
    if let Some(conflicts) = conflicts {
        let condition = ConflictCondition::of(conflicts);
        writeln!(text, "  Conflict {}", condition.reason)?;
        condition.message.split("; ").try_for_each(|line| writeln!(text, "    {line}"))?;
    }
    Ok(())
}

/// A line for each field that says something, two levels deep.
fn print_value(text: &mut String, path: &str, value: &Value) -> std::fmt::Result {
    match value {
        Value::Object(fields) => {
            fields.iter().try_for_each(|(key, value)| print_value(text, &format!("{path}.{key}"), value))
        }
        Value::Array(items) => items.iter().try_for_each(|item| writeln!(text, "  {path}: {}", plain(item))),
        _ => writeln!(text, "  {path}: {}", plain(value)),
    }
}

/// JSON without its quotation marks.
fn plain(value: &Value) -> String {
    value.to_string().replace('"', "").replace(',', ", ").replace(':', ": ")
}

/// A Service that a member of ours exports; its ServiceExport is from `minute`. `spec` are fields of the Service,
/// `origin` those of `spec.service.origin`.
pub(crate) fn service(cluster: &str, minute: u8, spec: &str, origin: &str) -> String {
    format!(
        "
metadata: {{name: {cluster}-shop-web-service, creationTimestamp: '2026-01-01T12:00:00Z'}}
spec:
  kind: Service
  clusterID: {cluster}
  namespace: shop
  name: web
  service:
    serviceSpec: {{{spec}}}
    origin: {{creationTimestamp: '2026-01-01T00:{minute:02}:00Z', {origin}}}"
    )
}

/// A Service that an upstream member exports, whose ResourceExport is from `minute`.
pub(crate) fn upstream_service(cluster: &str, minute: u8, ports: &str) -> String {
    format!(
        "
metadata: {{name: {cluster}-shop-web-service, creationTimestamp: '2026-01-01T00:{minute:02}:00Z'}}
spec:
  kind: Service
  clusterID: {cluster}
  namespace: shop
  name: web
  service: {{serviceSpec: {{ports: {ports}}}}}"
    )
}

/// Endpoints as `endpoints` says, of the Service of the same cluster.
pub(crate) fn endpoints(cluster: &str, endpoints: &str) -> String {
    format!(
        "
metadata: {{name: {cluster}-shop-web-endpoints, creationTimestamp: '2026-01-01T00:30:00Z'}}
spec: {{kind: Endpoints, clusterID: {cluster}, namespace: shop, name: web, endpoints: {{{endpoints}}}}}"
    )
}
