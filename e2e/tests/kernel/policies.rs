//! NetworkPolicies in the kernel's datapath: what is let in, by protocol and port, and what a Node may do.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use antrea_shared_api::controlplane::v1beta2::Direction;
use antrea_types::Protocol;
use anyhow::{Result, ensure};
use serde_json::json;

use crate::cluster::{Cluster, with_cluster};
use crate::keep_alive::KeepAlive;
use crate::knock::{Knock, check, wait_until_answered};
use crate::listeners::Listeners;
use crate::outside::{Outside, node_addresses};
use crate::pod::Pod;
use crate::policy_files::{Policy, open};
use crate::services::{NODE_PORT, PORT, Service};

/// How long a client of a NodePort waits: TCP asks again after a second.
pub(crate) const SILENCE: Duration = Duration::from_millis(1500);

/// In each family, from a namespace to a Pod.
fn knocks(protocol: Protocol, from: &str, to: &Pod, port: u16) -> impl Iterator<Item = Knock> {
    let knock = move |address: &IpAddr| Knock {
        protocol,
        from: from.to_owned(),
        to: to.name.clone(),
        address: *address,
        port,
    };
    to.addresses.iter().map(knock).collect::<Vec<_>>().into_iter()
}

#[test]
fn protocols_and_ports_of_a_policy_are_let_in_by_the_kernel_and_others_are_not() {
    let name = "protocols_and_ports_of_a_policy_are_let_in_by_the_kernel_and_others_are_not";
    with_cluster(name, |cluster| {
        let admitted = [(Protocol::Tcp, 8000, 8089), (Protocol::Udp, 53, 54), (Protocol::Sctp, 7000, 7003)];
        let policy = Policy::isolation().admitting(Direction::In, &cluster.client.addresses, &admitted);
        policy.enforce(&mut cluster.b, &cluster.server)?;
        let (client, neighbour) = (&cluster.client.name, &cluster.neighbour.name);
        let cases = [
            (Protocol::Tcp, client, 8000, true),
            (Protocol::Tcp, client, 8088, true),
            (Protocol::Tcp, client, 8090, false),
            (Protocol::Tcp, neighbour, 8001, false),
            (Protocol::Udp, client, 53, true),
            (Protocol::Udp, client, 55, false),
            (Protocol::Udp, neighbour, 54, false),
            (Protocol::Sctp, client, 7003, true),
            (Protocol::Sctp, client, 7004, false),
            (Protocol::Sctp, neighbour, 7000, false),
        ];
        let expected = cases.iter().flat_map(|(protocol, from, port, answered)| {
            knocks(*protocol, from, &cluster.server, *port).map(|knock| (knock, *answered))
        });
        check(&expected.collect::<Vec<_>>())?;
        open(&mut cluster.b)
    });
}

#[test]
fn what_a_pod_may_send_is_admitted_by_the_kernel_on_its_own_node_and_to_others() {
    let name = "what_a_pod_may_send_is_admitted_by_the_kernel_on_its_own_node_and_to_others";
    with_cluster(name, |cluster| {
        let peers = [cluster.neighbour.addresses.clone(), cluster.server.addresses.clone()].concat();
        let policy = Policy::isolation().admitting(Direction::Out, &peers, &[(Protocol::Sctp, 7000, 7000)]);
        policy.enforce(&mut cluster.a, &cluster.client)?;
        let mut expected = Vec::new();
        for pod in [&cluster.neighbour, &cluster.server] {
            for (protocol, port, answered) in
                [(Protocol::Sctp, 7000, true), (Protocol::Sctp, 7001, false), (Protocol::Tcp, 7000, false)]
            {
                expected
                    .extend(knocks(protocol, &cluster.client.name, pod, port).map(|knock| (knock, answered)));
            }
        }
        check(&expected)?;
        open(&mut cluster.a)
    });
}

/// A Node is known by the mark that its kernel puts on what its own processes send.
#[test]
fn a_node_reaches_its_own_isolated_pods_and_nobody_else_does() {
    with_cluster("a_node_reaches_its_own_isolated_pods_and_nobody_else_does", |cluster| {
        Policy::isolation().enforce(&mut cluster.b, &cluster.server)?;
        let mut expected = Vec::new();
        for (from, port, answered) in [
            (cluster.b.name, 7000, true),
            (cluster.a.name, 7001, false),
            (cluster.neighbour.name.as_str(), 7002, false),
        ] {
            for protocol in [Protocol::Tcp, Protocol::Udp, Protocol::Sctp] {
                expected.extend(knocks(protocol, from, &cluster.server, port).map(|knock| (knock, answered)));
            }
        }
        check(&expected)?;
        open(&mut cluster.b)
    });
}

/// What comes to a NodePort has the gateway's address once it was masqueraded, and yet it is not the Node's own.
#[test]
fn clients_of_a_node_port_do_not_reach_an_isolated_pod_behind_it() {
    with_cluster("clients_of_a_node_port_do_not_reach_an_isolated_pod_behind_it", |cluster| {
        Policy::isolation().enforce(&mut cluster.b, &cluster.server)?;
        let outside = Outside::connect(cluster)?;
        let service = Service::apply(cluster, &json!({}), &json!({}))?;
        let listeners = Listeners::open(&[&cluster.neighbour.name, &cluster.server.name], PORT)?;
        for address in node_addresses(1)? {
            ensure_half_are_let_in(cluster, &listeners, &outside, SocketAddr::new(address, NODE_PORT))?;
        }
        service.delete()?;
        open(&mut cluster.b)
    });
}

/// Of the two endpoints, each of which gets half of the connections, the neighbour answers and the server does not.
fn ensure_half_are_let_in(
    cluster: &Cluster,
    listeners: &Listeners,
    outside: &Outside,
    target: SocketAddr,
) -> Result<()> {
    listeners.connect_until_answered(outside.name, target)?;
    let (mut answered, mut denied) = (0, 0);
    while answered == 0 || denied == 0 {
        match listeners.try_to_connect(outside.name, target, SILENCE) {
            Ok(reached) => {
                ensure!(reached.name == cluster.neighbour.name, "{target} leads to an isolated Pod");
                answered += 1;
            }
            Err(_) => denied += 1,
        }
        ensure!(answered + denied < 50, "{target}: {answered} answered, {denied} denied");
    }
    Ok(())
}

/// As the documentation has it: policies judge connections when they begin.
#[test]
fn a_connection_that_is_open_goes_on_when_a_policy_comes_and_a_new_one_is_judged_by_it() {
    let name = "a_connection_that_is_open_goes_on_when_a_policy_comes_and_a_new_one_is_judged_by_it";
    with_cluster(name, |cluster| {
        let (client, server) = (cluster.client.name.clone(), cluster.server.name.clone());
        let open_ones =
            cluster.server.addresses.iter().map(|address| KeepAlive::start(&client, &server, *address));
        let open_ones = open_ones.collect::<Result<Vec<_>>>()?;
        Policy::isolation().enforce(&mut cluster.b, &cluster.server)?;
        open_ones.iter().try_for_each(|one| one.wait_for_answers(50))?;
        let denied = knocks(Protocol::Tcp, &client, &cluster.server, 7000).map(|knock| (knock, false));
        check(&denied.collect::<Vec<_>>())?;
        for one in open_ones {
            one.stop()?;
        }
        open(&mut cluster.b)?;
        knocks(Protocol::Tcp, &client, &cluster.server, 7000)
            .try_for_each(|knock| wait_until_answered(&knock))
    });
}
