//! A thousand endpoints are replaced one by one while clients connect. The endpoints are addresses of the outside, all of
//! which one server has.

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::names::Place;
use antrea_e2e::plan::address_in;
use antrea_e2e::topology::in_namespace;
use antrea_types::IpFamily;
use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::api::ENDPOINT_SLICES;
use super::ask::{Answer, Target};
use super::objects::{SERVICE_PORT, slice};
use super::stage::{Stage, on_the_stage};
use super::talk::{ensure_all_were_answered, while_connecting};

const SERVICE: &str = "rollout";
const ENDPOINTS: u32 = 1000;
/// As many as Kubernetes puts into an EndpointSlice.
const IN_A_SLICE: u32 = 100;
/// 50 changes a second.
const BETWEEN_CHANGES: Duration = Duration::from_millis(20);
/// How long an endpoint still answers after it has left its EndpointSlice, in changes: 5 s. Pods do for 30 s.
const GRACE: u32 = 250;
/// RFC 2544.
const RANGE: &str = "198.18.0.0/20";

/// Endpoints that went some time ago refuse connections.
const REFUSAL: &str = "table inet rollout {
  set gone { type ipv4_addr; }
  chain input { type filter hook input priority 0; tcp flags syn ip daddr @gone reject with tcp reset; }
}
";

#[test]
fn no_new_connection_fails_while_a_thousand_endpoints_are_replaced() {
    on_the_stage("no_new_connection_fails_while_a_thousand_endpoints_are_replaced", |stage| {
        let outside = Outside::of(stage)?;
        outside.have_all_addresses(stage)?;
        let result = roll_out(stage, &outside);
        outside.undo().and(result)
    });
}

fn roll_out(stage: &Stage<'_>, outside: &Outside) -> Result<()> {
    let spec = json!({ "ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"] });
    let service = stage.service(SERVICE, &spec)?;
    for number in 0..ENDPOINTS / IN_A_SLICE {
        stage.api.apply(&slice(SERVICE, &number.to_string(), IpFamily::V4, &endpoints(number, 0), PORTS))?;
    }
    let target = Target::tcp(service.ips().v4.context("no ClusterIP")?, SERVICE_PORT);
    let clients = [&stage.clients[0].network, &stage.clients[1].network, &stage.here.network];
    let pairs = clients.map(|from| (from, target));
    for (from, _) in pairs {
        stage.until("the first answers", || match target.hostname(from)? {
            Answer::Said(_) => Ok(()),
            answer => anyhow::bail!("{answer}"),
        })?;
    }
    let ((), attempts) = while_connecting(&pairs, || {
        replace_all(stage, outside)?;
        outside.refuse(0, ENDPOINTS)
    })?;
    ensure_all_were_answered(&pairs, &attempts)
}

const PORTS: [(&str, u16); 2] = [("tcp", 8080), ("udp", 8081)];

/// Replaces one endpoint after the other.
fn replace_all(stage: &Stage<'_>, outside: &Outside) -> Result<()> {
    let begun = Instant::now();
    for change in 0..ENDPOINTS + GRACE {
        wait_until(begun + BETWEEN_CHANGES * change);
        if change < ENDPOINTS {
            let (number, replaced) = (change / IN_A_SLICE, change % IN_A_SLICE + 1);
            let path = format!("{ENDPOINT_SLICES}/{SERVICE}-{number}-ipv4");
            stage.api.patch(&path, &json!({ "endpoints": endpoints(number, replaced) }))?;
        }
        // Once a second.
        if change >= GRACE && change % 50 == 0 {
            outside.refuse(change - GRACE, 50)?;
        }
    }
    println!("{ENDPOINTS} endpoints were replaced, one after the other, in {} s", begun.elapsed().as_secs());
    Ok(())
}

/// Those of an EndpointSlice, the first of which have been replaced.
fn endpoints(number: u32, replaced: u32) -> Vec<Value> {
    let address = |place: u32| {
        let generation = if place < replaced { ENDPOINTS } else { 0 };
        address(generation + number * IN_A_SLICE + place)
    };
    (0..IN_A_SLICE)
        .map(|place| json!({ "addresses": [address(place)], "conditions": { "ready": true } }))
        .collect()
}

fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(198, 18, 0, 1).to_bits() + number)
}

struct Outside {
    namespace: String,
    router: String,
}

impl Outside {
    fn of(stage: &Stage<'_>) -> Result<Self> {
        let plan = stage.cluster.lab.plan();
        Ok(Self { namespace: plan.namespace(Place::Outside)?, router: plan.namespace(Place::Router)? })
    }

    fn have_all_addresses(&self, stage: &Stage<'_>) -> Result<()> {
        let subnet = stage.cluster.lab.plan().block.outside().v4.context("no IPv4")?;
        let own = address_in(&subnet, 2).context("no address")?.to_string();
        command("ip", &["-n", &self.namespace, "route", "replace", "local", RANGE, "dev", "lo"]).run()?;
        command("ip", &["-n", &self.router, "route", "replace", RANGE, "via", &own]).run()?;
        self.nft(REFUSAL)
    }

    /// These endpoints of the first generation are gone.
    fn refuse(&self, from: u32, count: u32) -> Result<()> {
        let gone: Vec<String> = (from..from + count).map(|number| address(number).to_string()).collect();
        self.nft(&format!("add element inet rollout gone {{ {} }}\n", gone.join(", ")))
    }

    fn undo(&self) -> Result<()> {
        command("ip", &["-n", &self.router, "route", "delete", RANGE]).run()?;
        command("ip", &["-n", &self.namespace, "route", "delete", "local", RANGE, "dev", "lo"]).run()?;
        self.nft("delete table inet rollout\n")
    }

    fn nft(&self, commands: &str) -> Result<()> {
        in_namespace(&self.namespace, "nft").args(["-f", "-"]).feed(commands).map(drop)
    }
}

#[expect(clippy::disallowed_methods, reason = "so many changes a second are what is tried")]
fn wait_until(moment: Instant) {
    thread::sleep(moment.saturating_duration_since(Instant::now()));
}
