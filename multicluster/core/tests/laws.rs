//! What holds for every merge of Services and of endpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_mc_core::addresses::Claims;
use antrea_mc_core::conflict::Conflict;
use antrea_mc_core::endpoints::{Endpoint, Endpoints};
use antrea_mc_core::export::Export;
use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::merge;
use antrea_mc_core::service::{ExportedService, Port, Properties, ServiceType};
use antrea_types::Protocol;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

type ServiceExport = Export<ExportedService>;

fn port() -> impl Strategy<Value = Port> {
    let names = select(vec!["", "http", "https", "dns"]);
    let protocols = select(vec![Protocol::Tcp, Protocol::Udp]);
    (names, protocols, select(vec![53_u16, 80, 443]), proptest::option::of(Just("h2c"))).prop_map(
        |(name, protocol, port, app_protocol)| Port {
            name: name.into(),
            protocol,
            port,
            app_protocol: app_protocol.map(Into::into),
        },
    )
}

/// Ports that one Service can have.
fn ports() -> impl Strategy<Value = Vec<Port>> {
    vec(port(), 1..5).prop_map(|ports| {
        let mut kept: Vec<Port> = Vec::new();
        for port in ports {
            let alike = |other: &Port| {
                other.name == port.name
                    || (other.protocol, other.port) == (port.protocol, port.port)
                    || other.name.is_empty()
                    || port.name.is_empty()
            };
            if !kept.iter().any(alike) {
                kept.push(port);
            }
        }
        kept
    })
}

fn service() -> impl Strategy<Value = ExportedService> {
    let service_type = select(vec![ServiceType::ClusterSetIp, ServiceType::Headless]);
    let properties =
        service_type.prop_map(|service_type| Properties { service_type, ..Properties::default() });
    (ports(), proptest::option::weighted(0.7, properties))
        .prop_map(|(ports, properties)| ExportedService { ports, properties })
}

/// Up to six clusters, some of them equally old.
fn exports() -> impl Strategy<Value = Vec<ServiceExport>> {
    vec((0_i64..4, service()), 1..7).prop_map(|services| {
        let export = |(number, (age, payload)): (usize, (i64, ExportedService))| Export {
            cluster: format!("c{number}").parse().unwrap(),
            created: jiff::Timestamp::from_second(age).unwrap(),
            payload,
        };
        services.into_iter().enumerate().map(export).collect()
    })
}

/// Endpoints that several slices or subsets of `cluster` name, some of them again and again.
fn endpoints(cluster: &ClusterId) -> impl Strategy<Value = Export<Endpoints>> + use<> {
    let cluster = cluster.clone();
    vec((ports(), 1_u8..6), 0..12).prop_map(move |all| {
        let endpoint = |(ports, last)| (ports, IpAddr::from([10, 0, 0, last]), Endpoint::default());
        let payload = all.into_iter().map(endpoint).collect();
        Export { cluster: cluster.clone(), created: jiff::Timestamp::UNIX_EPOCH, payload }
    })
}

/// Exports of Services, and endpoints of each exporter.
fn exports_with_endpoints() -> impl Strategy<Value = (Vec<ServiceExport>, Vec<Export<Endpoints>>)> {
    exports().prop_flat_map(|exports| {
        let endpoints: Vec<_> = exports.iter().map(|export| endpoints(&export.cluster)).collect();
        (Just(exports), endpoints)
    })
}

fn refused(conflicts: &[Conflict]) -> BTreeSet<&ClusterId> {
    let clusters = conflicts.iter().filter_map(|conflict| match conflict {
        Conflict::Refused { cluster, .. } => Some(cluster),
        _ => None,
    });
    clusters.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn the_order_of_exports_does_not_matter(
        (exports, shuffled) in exports().prop_flat_map(|exports| (Just(exports.clone()), Just(exports).prop_shuffle()))
    ) {
        let merged = |exports: &[ServiceExport]| merge::service(&exports.iter().collect::<Vec<_>>());
        prop_assert_eq!(merged(&exports), merged(&shuffled));
    }

    #[test]
    fn merging_again_what_was_merged_changes_nothing(exports in exports()) {
        let merged = merge::service(&exports.iter().collect::<Vec<_>>()).unwrap();
        let payload = ExportedService { ports: merged.ports.clone(), properties: Some(merged.properties.clone()) };
        let again = Export { cluster: "again".parse().unwrap(), created: exports[0].created, payload };
        let again = merge::service(&[&again]).unwrap();
        prop_assert_eq!((again.ports, again.properties, again.conflicts), (merged.ports, merged.properties, vec![]));
    }

    #[test]
    fn every_port_is_imported_or_in_a_conflict(exports in exports()) {
        let merged = merge::service(&exports.iter().collect::<Vec<_>>()).unwrap();
        let refused = refused(&merged.conflicts);
        for export in &exports {
            for port in &export.payload.ports {
                let is_same = |other: &Port| (&other.name, other.protocol, other.port) == (&port.name, port.protocol, port.port);
                let imported = merged.ports.iter().any(is_same)
                    && merged.clusters.get(&export.cluster).is_some_and(|names| names.contains(&port.name));
                let lost = merged.conflicts.iter().any(|conflict| matches!(
                    conflict, Conflict::PortLost { cluster, port: other, .. } if *cluster == export.cluster && other == port
                ));
                prop_assert!(imported != (lost || refused.contains(&export.cluster)), "{}: {}", export.cluster, port);
            }
        }
    }

    #[test]
    fn a_service_can_have_the_imported_ports(exports in exports()) {
        let ports = merge::service(&exports.iter().collect::<Vec<_>>()).unwrap().ports;
        let names: BTreeSet<_> = ports.iter().map(|port| &port.name).collect();
        let numbers: BTreeSet<_> = ports.iter().map(|port| (port.protocol, port.port)).collect();
        prop_assert_eq!((names.len(), numbers.len()), (ports.len(), ports.len()));
        prop_assert!(ports.len() == 1 || ports.iter().all(|port| !port.name.is_empty()));
    }

    #[test]
    fn there_is_no_conflict_exactly_where_all_export_the_same(exports in exports()) {
        let merged = merge::service(&exports.iter().collect::<Vec<_>>()).unwrap();
        let sorted = |ports: &[Port]| ports.iter().cloned().collect::<BTreeSet<_>>();
        let ports: BTreeSet<_> = exports.iter().map(|export| sorted(&export.payload.ports)).collect();
        let types: BTreeMap<_, _> = exports.iter()
            .filter_map(|export| export.payload.properties.as_ref())
            .map(|properties| (properties.service_type.to_string(), ()))
            .collect();
        prop_assert_eq!(merged.conflicts.is_empty(), ports.len() == 1 && types.len() <= 1);
    }

    #[test]
    fn the_oldest_export_counts_as_a_whole(exports in exports()) {
        let merged = merge::service(&exports.iter().collect::<Vec<_>>()).unwrap();
        let oldest = exports.iter().min_by_key(|export| (export.created, &export.cluster)).unwrap();
        prop_assert_eq!(&merged.ports[..oldest.payload.ports.len()], &oldest.payload.ports[..]);
        prop_assert!(merged.clusters.contains_key(&oldest.cluster));
        if let Some(properties) = &oldest.payload.properties {
            prop_assert_eq!(&merged.properties, properties);
        }
    }

    #[test]
    fn endpoints_get_only_ports_that_are_imported_of_their_cluster((exports, endpoints) in exports_with_endpoints()) {
        let service = merge::service(&exports.iter().collect::<Vec<_>>()).unwrap();
        let references: Vec<_> = endpoints.iter().collect();
        let merged = merge::endpoints(&service, &references, &BTreeSet::new(), &Claims::default());
        for (cluster, endpoints) in &merged.clusters {
            for (ports, ..) in endpoints.iter() {
                prop_assert!(ports.iter().all(|port| service.clusters[cluster].contains(&port.name)));
            }
        }
        let mut reversed = references.clone();
        reversed.reverse();
        prop_assert_eq!(merge::endpoints(&service, &reversed, &BTreeSet::new(), &Claims::default()), merged);
    }

    #[test]
    fn every_endpoint_is_imported_once((exports, endpoints) in exports_with_endpoints()) {
        let service = merge::service(&exports.iter().collect::<Vec<_>>()).unwrap();
        let merged = merge::endpoints(&service, &endpoints.iter().collect::<Vec<_>>(), &BTreeSet::new(), &Claims::default());
        let pairs = |ports: &[Port], address: IpAddr| -> Vec<(Port, IpAddr)> {
            ports.iter().map(|port| (port.clone(), address)).collect()
        };
        for export in &endpoints {
            let Some(names) = service.clusters.get(&export.cluster) else { continue };
            let sent: BTreeSet<_> = export.payload.iter()
                .flat_map(|(ports, address, _)| pairs(ports, address))
                .filter(|(port, _)| names.contains(&port.name))
                .collect();
            let imported: BTreeSet<_> = merged.clusters.get(&export.cluster).into_iter()
                .flat_map(Endpoints::iter)
                .flat_map(|(ports, address, _)| pairs(ports, address))
                .collect();
            prop_assert_eq!(imported, sent);
        }
        let by_cluster: BTreeSet<_> = merged.clusters.values().flat_map(Endpoints::iter)
            .flat_map(|(ports, address, _)| pairs(ports, address)).collect();
        let flat: BTreeSet<_> = merged.flat().iter()
            .flat_map(|(ports, addresses)| addresses.iter().flat_map(|address| pairs(ports, *address))).collect();
        prop_assert_eq!(flat, by_cluster);
    }
}
