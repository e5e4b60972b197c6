//! How many masks the classifier of a switch has to try in each table of policies: each distinct mask is a lookup.

use std::collections::{BTreeMap, BTreeSet};

use antrea_apiserver::store::Encoding;
use antrea_openflow::{Field, Flow, Match};
use antrea_pipeline::policy::FlowChange;
use antrea_policy_reference::{Event, Options, generate};

use crate::agent::Agent;
use crate::controller::Controller;
use crate::fault;
use crate::node::Node;

const TABLES: [&str; 6] =
    ["EgressRule", "EgressDefaultRule", "EgressMetric", "IngressRule", "IngressDefaultRule", "IngressMetric"];

/// What a table of policies has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    flows: usize,
    masks: usize,
    /// Masks of addresses, which are as many as there are lengths of prefixes.
    of_addresses: usize,
    /// Masks of ports of protocols.
    of_ports: usize,
}

/// Of each table of policies, on the first Node of a cluster.
fn count(seed: u64, options: &Options) -> BTreeMap<&'static str, Counted> {
    let mut controller = Controller::new(fault::NONE);
    for object in generate(seed, options).objects() {
        controller.happen(&Event::Apply(object));
    }
    controller.settle();
    let node = Node::new(1, (2..=u8::try_from(1 + options.pods).unwrap()).collect());
    let mut agent = Agent::new("n1", Encoding::Protobuf, &node.pipeline, fault::NONE);
    agent.connect(&mut controller.store);
    let mut flows = node.flows();
    flows.extend(agent.reconcile(&controller.cluster).into_iter().filter_map(|change| match change {
        FlowChange::Add(flow) | FlowChange::Modify(flow) => Some(flow),
        FlowChange::Delete(_) => None,
    }));
    let names = node.pipeline.table_names();
    let of_table = |table: &&'static str| {
        let (id, _) = names.iter().find(|(_, name)| name == table).unwrap();
        (*table, Counted::of(flows.iter().filter(|flow| flow.table == *id)))
    };
    TABLES.iter().map(of_table).collect()
}

impl Counted {
    fn of<'a>(flows: impl Iterator<Item = &'a Flow>) -> Self {
        let all: Vec<_> = flows.map(|flow| mask(&flow.matching)).collect();
        let masks: BTreeSet<_> = all.iter().collect();
        let with = |fields: &[Field]| {
            masks.iter().filter(|mask| fields.iter().any(|field| mask.contains_key(field))).count()
        };
        Self {
            flows: all.len(),
            masks: masks.len(),
            of_addresses: with(&[Field::Ipv4Src, Field::Ipv4Dst, Field::Ipv6Src, Field::Ipv6Dst]),
            of_ports: with(&[Field::TcpDst]),
        }
    }
}

/// The bits that matter, of fields as the switch keeps them: all protocols have the same two ports.
fn mask(matching: &Match) -> BTreeMap<Field, u128> {
    let field = |field| match field {
        Field::UdpDst | Field::SctpDst => Field::TcpDst,
        field => field,
    };
    matching.fields().iter().map(|one| (field(one.field), one.mask)).collect()
}

/// A switch tries each mask of a table, so that these are what its work depends on. Prefixes have 32 and 128 lengths, and
/// a block of IPv6 less its exceptions is made of prefixes of nearly all of them; a range of ports has up to 16 masks, and
/// one more is of a protocol alone.
#[test]
fn the_masks_of_a_table_do_not_grow_with_policies() {
    let mixed = |policies| Options { namespaces: 20, pods: 100, policies, ..Options::default() };
    let (some, many) = (count(1, &mixed(150)), count(1, &mixed(600)));
    for (table, counted) in &many {
        let Counted { flows, masks, of_addresses, of_ports } = *counted;
        let fewer = some[table];
        println!(
            "{table:<20} 150 policies: {:>4} masks of {:>5} flows; 600 policies: {masks:>4} of {flows:>5}, {of_addresses:>4} \
             of addresses, {of_ports:>3} of ports",
            fewer.masks, fewer.flows
        );
        assert!(masks <= fewer.masks + 4, "{table}: {fewer:?} became {counted:?}");
        assert!(of_addresses <= 32 + 128 + 8 && of_ports <= 17, "{table}: {counted:?}");
        assert!(masks - of_addresses - of_ports <= 8, "{table}: {counted:?}");
    }
}
