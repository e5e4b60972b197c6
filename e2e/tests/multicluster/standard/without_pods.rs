//! The same behaviours where no cluster says where its Pods are, which is the default: all hold but those that need Pods of other
//! clusters. A headless Service has its own Pods at home.

use antrea_e2e::scenario::{Extent, Part, is_wanted, product};
use anyhow::Result;

use super::ask::{clients, wait_for_records};
use super::fixture::{unmake, with_services};
use super::headless::SERVICE;
use super::servers::{self, Server};
use super::service::name_of;
use super::{connections, exports, headless, names, ports, properties, slices};
use crate::multicluster::pods::change_releases;
use crate::multicluster::stage::{Stage, on_the_stage};

/// The tests of each file.
const BEHAVIOURS: [&[fn()]; 7] = [
    &connections::BEHAVIOURS,
    &exports::BEHAVIOURS,
    &headless::BEHAVIOURS,
    &names::BEHAVIOURS,
    &ports::BEHAVIOURS,
    &properties::BEHAVIOURS,
    &slices::BEHAVIOURS,
];

#[test]
fn with_default_values_all_behaviours_hold_but_those_of_pods_elsewhere() {
    let name = "with_default_values_all_behaviours_hold_but_those_of_pods_elsewhere";
    if !is_wanted(name, Extent::Long(Part::Two)) {
        return;
    }
    on_the_stage(name, |stage| {
        unmake(stage)?;
        say_nothing_of_pods(stage)
    });
    BEHAVIOURS.into_iter().flatten().for_each(|behaviour| behaviour());
    with_services(name, names_of_pods_have_answers_at_home);
    on_the_stage(name, |stage| {
        unmake(stage)?;
        change_releases(stage, |_| Ok(vec!["rollback".to_owned(), "antrea-mc".to_owned()]))
    });
}

/// The default of `podCIDRs` takes the place of what the stage has.
fn say_nothing_of_pods(stage: &Stage) -> Result<()> {
    let chart = product()?.multicluster.chart.display().to_string();
    change_releases(stage, |_| {
        let upgrade = ["upgrade", "antrea-mc", &chart, "--reset-then-reuse-values", "--set-json"];
        Ok(upgrade.into_iter().chain(["controller.podCIDRs=[]"]).map(str::to_owned).collect())
    })
}

/// B has two Pods in the headless Service, C has one, and A none.
fn names_of_pods_have_answers_at_home(stage: &Stage) -> Result<()> {
    let servers = servers::all(stage, SERVICE)?;
    let (of_b, of_c) = servers.split_at(2);
    let of_a: &[Server] = &[];
    for (client, own) in clients(stage)?.iter().zip([of_a, of_b, of_c]) {
        wait_for_records(client, "A", &name_of(SERVICE), &addresses(own))?;
        for server in own {
            wait_for_records(client, "A", &server.name, &[server.ip.to_string()])?;
        }
    }
    Ok(())
}

fn addresses(servers: &[Server]) -> Vec<String> {
    servers.iter().map(|server| server.ip.to_string()).collect()
}
