//! How large a ResourceExport is, in all that is limited.

use std::collections::BTreeSet;
use std::io::{self, Write};

use antrea_shared_api::multicluster::v1alpha1::{
    ExportKind, ExportedEndpoints, ResourceExport, ResourceExportSpec,
};
use serde::Serialize;

/// What counts of a ResourceExport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// The member that exports it, as that is written; nothing where an admin does.
    pub cluster: String,
    /// The kind.
    pub kind: ExportKind,
    /// How many bytes of JSON it has, but for its status and what only the API server writes. `managedFields` are anybody's
    /// to write.
    pub bytes: usize,
    /// How many ports its longest list of ports has.
    pub ports: usize,
    /// How many different lists of ports its endpoints have.
    pub port_lists: usize,
    /// How many labels ServiceImports get of it.
    pub labels: usize,
    /// How many annotations they get.
    pub annotations: usize,
    /// How many pairs of an endpoint and a port, an endpoint without ports being one, or ports of a Service: without any endpoint
    /// these are on every Node, too.
    pub endpoint_ports: usize,
}

impl Size {
    /// How large a ResourceExport is, of which nothing has been left out yet.
    pub fn of(export: &ResourceExport) -> Self {
        let metadata = &export.metadata;
        let of_users =
            (&metadata.annotations, &metadata.labels, &metadata.finalizers, &metadata.owner_references);
        let spec = &export.spec;
        let origin = spec.service.as_ref().and_then(|service| service.origin.as_ref());
        let ports_of_service = spec.service.as_ref().map_or(0, |service| service.service_spec.ports.len());
        let of_endpoints = |count: fn(&ExportedEndpoints) -> usize| spec.endpoints.as_ref().map_or(0, count);
        Self {
            cluster: exporter(spec).to_owned(),
            kind: spec.kind.clone(),
            bytes: stored_bytes(&(of_users, &metadata.managed_fields, spec)),
            ports: longest_list_of_ports(spec),
            port_lists: of_endpoints(lists_of_ports),
            labels: origin.map_or(0, |origin| origin.labels.len()),
            annotations: origin.map_or(0, |origin| origin.annotations.len()),
            endpoint_ports: ports_of_service + of_endpoints(endpoint_ports),
        }
    }
}

/// The member whose an export is; nothing for what an admin exports, whatever cluster that names.
pub fn exporter(spec: &ResourceExportSpec) -> &str {
    if spec.kind.is_of_members() { &spec.cluster_id } else { "" }
}

fn longest_list_of_ports(spec: &ResourceExportSpec) -> usize {
    let of_service = spec.service.iter().map(|service| service.service_spec.ports.len());
    let subsets = spec.endpoints.iter().flat_map(|endpoints| &endpoints.subsets);
    let slices = spec.endpoints.iter().flat_map(|endpoints| &endpoints.endpoint_slices);
    let of_subsets = subsets.map(|subset| subset.ports.as_ref().map_or(0, Vec::len));
    of_service.chain(of_subsets).chain(slices.map(|slice| slice.ports.len())).max().unwrap_or(0)
}

/// How many different lists of ports there are, as they are written.
fn lists_of_ports(exported: &ExportedEndpoints) -> usize {
    let of_subsets =
        exported.subsets.iter().map(|subset| written(subset.ports.as_deref().unwrap_or_default()));
    let of_slices = exported.endpoint_slices.iter().map(|slice| written(&slice.ports));
    of_subsets.collect::<BTreeSet<_>>().len().max(of_slices.collect::<BTreeSet<_>>().len())
}

fn written(ports: &[impl Serialize]) -> String {
    // The JSON of what was read from JSON does not fail.
    serde_json::to_string(ports).unwrap_or_default()
}

/// How many pairs of an endpoint and a port there are. Subsets and slices are the same endpoints, for different readers.
fn endpoint_ports(exported: &ExportedEndpoints) -> usize {
    let in_subsets = exported.subsets.iter().map(|subset| {
        let ports = subset.ports.as_ref().map_or(0, Vec::len);
        subset.addresses.as_ref().map_or(0, Vec::len) * ports.max(1)
    });
    let in_slices = exported.endpoint_slices.iter();
    let in_slices = in_slices.map(|slice| slice.endpoints.len() * slice.ports.len().max(1));
    in_subsets.sum::<usize>().max(in_slices.sum())
}

/// How many bytes of JSON the API server stores of a value.
pub(crate) fn stored_bytes(value: &impl Serialize) -> usize {
    let mut bytes = Count(0);
    // Counting does not fail, nor does the JSON of what was read from JSON.
    let _ = serde_json::to_writer(&mut bytes, value);
    bytes.0
}

/// Counts what is written into it, as Go writes it: `<`, `>` and `&` become `\u003c` and so on.
struct Count(usize);

impl Write for Count {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    /// serde_json writes a few bytes at a time.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let escaped = bytes.iter().filter(|byte| matches!(byte, b'<' | b'>' | b'&')).count();
        self.0 += bytes.len() + 5 * escaped;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
