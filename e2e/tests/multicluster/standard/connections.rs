//! Who is reached by the name of a Service.

use antrea_types::Protocol::{Tcp, Udp};
use anyhow::{Context, ensure};
use serde_json::Value;

use super::ask::{clients, ensure_nobody_answers, from_everywhere, wait_for_answers, wait_for_records};
use super::fixture::with_services;
use super::look::{cluster_ips, derived_of, ensure_nowhere, gone_everywhere, unexport};
use super::ports;
use super::servers::{IN_B, IN_C};
use super::service::{Service, Services, name_of};
use crate::multicluster::stage::until;

/// Of B and C, without anything to tell of.
pub(super) const HELLO: &str = "hello";
const AT_HOME: &str = "at-home";
const WITHDRAWN: &str = "withdrawn";
const IN_BOTH: &str = "in-both";

/// What holds wherever Pods are reached.
pub(super) const BEHAVIOURS: [fn(); 5] = [
    a_service_that_is_not_exported_is_not_reached_from_another_cluster,
    an_exported_service_is_reached_by_its_name_from_each_cluster,
    of_two_clusters_with_the_service_only_the_exporter_is_reached,
    of_one_port_name_with_two_numbers_only_the_cluster_that_has_the_number_is_asked,
    a_port_that_one_cluster_has_leads_to_that_cluster,
];

pub(super) fn services() -> Services {
    Services {
        b: vec![
            Service::exported(HELLO),
            Service::exported(AT_HOME).at_home(),
            Service::exported(WITHDRAWN),
            Service::exported(IN_BOTH),
        ],
        c: vec![Service::exported(HELLO), Service::exported(IN_BOTH).at_home()],
    }
}

#[test]
fn a_service_that_is_not_exported_is_not_reached_from_another_cluster() {
    with_services("a_service_that_is_not_exported_is_not_reached_from_another_cluster", |stage| {
        let [in_a, _, in_c] = clients(stage)?;
        let name = name_of(WITHDRAWN);
        wait_for_answers(&in_a, (Tcp, &name, 80), &[IN_B])?;
        let derived = derived_of(stage.a()?, WITHDRAWN)?;
        let ip = cluster_ips(&derived).into_iter().next().context("it has no address")?;
        unexport(stage.b()?, WITHDRAWN)?;
        gone_everywhere(stage, WITHDRAWN)?;
        wait_for_records(&in_a, "A", &name, &[])?;
        ensure_nobody_answers(&in_a, &name)?;
        until(&format!("nobody to answer at {ip}"), || {
            let answer = in_a.exec(&["curl", "-sSf", "--max-time", "1", &format!("http://{ip}/hostname")]);
            ensure!(answer.is_err(), "{answer:?}");
            Ok(())
        })?;
        ensure_nowhere(stage, AT_HOME)?;
        ensure_nobody_answers(&in_a, &name_of(AT_HOME))?;
        ensure_nobody_answers(&in_c, &name_of(AT_HOME))
    });
}

#[test]
fn an_exported_service_is_reached_by_its_name_from_each_cluster() {
    with_services("an_exported_service_is_reached_by_its_name_from_each_cluster", |stage| {
        let name = name_of(HELLO);
        from_everywhere(stage, |client| wait_for_answers(client, (Tcp, &name, 80), &[IN_B, IN_C]))
    });
}

#[test]
fn of_two_clusters_with_the_service_only_the_exporter_is_reached() {
    with_services("of_two_clusters_with_the_service_only_the_exporter_is_reached", |stage| {
        let name = name_of(IN_BOTH);
        from_everywhere(stage, |client| wait_for_answers(client, (Tcp, &name, 80), &[IN_B]))
    });
}

#[test]
fn of_one_port_name_with_two_numbers_only_the_cluster_that_has_the_number_is_asked() {
    with_services(
        "of_one_port_name_with_two_numbers_only_the_cluster_that_has_the_number_is_asked",
        |stage| {
            let name = name_of(ports::DISPUTED);
            from_everywhere(stage, |client| {
                wait_for_answers(client, (Tcp, &name, 80), &[IN_B])?;
                wait_for_answers(client, (Udp, &name, 53), &[IN_B])
            })?;
            let derived = derived_of(stage.a()?, ports::DISPUTED)?;
            let numbers = derived["spec"]["ports"].as_array().into_iter().flatten();
            let numbers: Vec<&Value> = numbers.map(|port| &port["port"]).collect();
            ensure!(!numbers.iter().any(|number| **number == 81 || **number == 54), "it has {numbers:?}");
            Ok(())
        },
    );
}

#[test]
fn a_port_that_one_cluster_has_leads_to_that_cluster() {
    with_services("a_port_that_one_cluster_has_leads_to_that_cluster", |stage| {
        let name = name_of(ports::UNITED);
        from_everywhere(stage, |client| {
            wait_for_answers(client, (Tcp, &name, 81), &[IN_B])?;
            wait_for_answers(client, (Tcp, &name, 82), &[IN_C])?;
            wait_for_answers(client, (Tcp, &name, 80), &[IN_B, IN_C])
        })
    });
}
