//! Which endpoints are in which EndpointSlice: each stays where it is, so that a Pod that comes or goes changes one slice.
//!
//! Sets of endpoints and slices find each other by the text of their shape: a member may export thousands of lists of ports.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_shared_api::multicluster::v1alpha1::{EndpointSliceTemplate, SliceEndpoint};
use antrea_types::IpFamily;
use serde_json::{Value, json};

use crate::objects::{Key, at, text};

/// The most endpoints of a slice, as Kubernetes' own controller has it.
const MOST: usize = 100;

/// Endpoints of one cluster that can be in one slice, each once.
pub(super) struct EndpointSet<'a> {
    /// Their family and ports, as they stand in a slice.
    pub(super) shape: Value,
    /// The endpoints, by the address that counts.
    pub(super) endpoints: BTreeMap<IpAddr, &'a SliceEndpoint>,
}

/// The endpoints of templates. The API server refuses a slice with an address of another family.
pub(super) fn sets<'a>(templates: &[&'a EndpointSliceTemplate]) -> Vec<EndpointSet<'a>> {
    let (mut sets, mut places): (Vec<EndpointSet<'_>>, _) = (Vec::new(), BTreeMap::new());
    for template in templates {
        let shape = shape(template);
        let endpoints = template.endpoints.iter().filter_map(|endpoint| {
            let address: IpAddr = endpoint.addresses.first()?.parse().ok()?;
            let is_of_it = IpFamily::of(&address).to_string() == template.address_type.as_str();
            is_of_it.then_some((address, endpoint))
        });
        let endpoints: BTreeMap<_, _> = endpoints.collect();
        let place = *places.entry(shape.to_string()).or_insert(sets.len());
        match sets.get_mut(place) {
            Some(set) => set.endpoints.extend(endpoints),
            None => sets.push(EndpointSet { shape, endpoints }),
        }
    }
    sets.retain(|set| !set.endpoints.is_empty());
    sets
}

fn shape(template: &EndpointSliceTemplate) -> Value {
    let ports = template.ports.iter().map(|port| {
        json!({
            "name": port.name.as_deref().unwrap_or_default(),
            "protocol": port.protocol.as_deref().unwrap_or("TCP"),
            "port": port.port,
            "appProtocol": port.app_protocol,
        })
    });
    json!({ "addressType": template.address_type, "ports": ports.collect::<Vec<_>>() })
}

/// The shape of a slice that is there, as [`shape`] has it of a template.
fn shape_of(slice: &Value) -> Value {
    let ports = at(slice, "/ports").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let ports = ports.iter().map(|port| {
        let protocol = Some(text(port, "/protocol")).filter(|protocol| !protocol.is_empty());
        json!({
            "name": text(port, "/name"),
            "protocol": protocol.unwrap_or("TCP"),
            "port": port.get("port"),
            "appProtocol": port.get("appProtocol"),
        })
    });
    json!({ "addressType": text(slice, "/addressType"), "ports": ports.collect::<Vec<_>>() })
}

/// A slice that is wanted: its name, and what is in it.
pub(super) struct Placed<'a> {
    pub(super) key: Key,
    pub(super) shape: &'a Value,
    pub(super) endpoints: Vec<&'a SliceEndpoint>,
}

/// The slices that are wanted for the sets of a cluster. `there` are those that it has, `free` are names for new ones.
pub(super) fn assign<'a>(
    sets: &'a [EndpointSet<'a>],
    there: BTreeMap<Key, &Value>,
    mut free: impl Iterator<Item = Key>,
) -> Vec<Placed<'a>> {
    let mut all = Vec::new();
    for (set, there) in sets.iter().zip(matched(sets, there)) {
        let before: Vec<BTreeSet<IpAddr>> = there.values().map(|slice| addresses(slice)).collect();
        let wanted: BTreeSet<IpAddr> = set.endpoints.keys().copied().collect();
        let keys = there.into_keys().chain(free.by_ref());
        for (addresses, key) in place(&before, wanted).into_iter().zip(keys) {
            if !addresses.is_empty() {
                let endpoints = addresses.iter().filter_map(|address| set.endpoints.get(address).copied());
                all.push(Placed { key, shape: &set.shape, endpoints: endpoints.collect() });
            }
        }
    }
    all
}

/// The slices of each set: those of its shape. A set without any gets what is left of its family, with other ports: the
/// family of a slice never changes.
fn matched<'a>(sets: &[EndpointSet<'_>], there: BTreeMap<Key, &'a Value>) -> Vec<BTreeMap<Key, &'a Value>> {
    let mut by_shape = BTreeMap::<String, BTreeMap<Key, &'a Value>>::new();
    for (key, slice) in there {
        by_shape.entry(shape_of(slice).to_string()).or_default().insert(key, slice);
    }
    let matched = sets.iter().map(|set| by_shape.remove(&set.shape.to_string()).unwrap_or_default());
    let mut matched: Vec<BTreeMap<Key, &'a Value>> = matched.collect();
    let mut left = BTreeMap::<&str, BTreeMap<Key, &'a Value>>::new();
    for (key, slice) in by_shape.into_values().flatten() {
        left.entry(text(slice, "/addressType")).or_default().insert(key, slice);
    }
    for (set, own) in sets.iter().zip(&mut matched) {
        if own.is_empty() {
            *own = left.remove(text(&set.shape, "/addressType")).unwrap_or_default();
        }
    }
    matched
}

/// The addresses of a slice that is there.
fn addresses(slice: &Value) -> BTreeSet<IpAddr> {
    let endpoints = at(slice, "/endpoints").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    endpoints.iter().filter_map(|endpoint| text(endpoint, "/addresses/0").parse().ok()).collect()
}

/// What is in each slice: in those that are there, in their order, then in new ones. A slice that is left empty is not
/// needed.
fn place(there: &[BTreeSet<IpAddr>], wanted: BTreeSet<IpAddr>) -> Vec<BTreeSet<IpAddr>> {
    let mut newcomers = wanted;
    let mut placed: Vec<BTreeSet<IpAddr>> = Vec::new();
    for slice in there {
        let kept: BTreeSet<IpAddr> = slice.intersection(&newcomers).take(MOST).copied().collect();
        for address in &kept {
            newcomers.remove(address);
        }
        placed.push(kept);
    }
    take_in(there, &mut placed, newcomers);
    join(there, &mut placed);
    placed
}

/// Newcomers go into slices that are written anyway, then into one that has room for the rest of them, else into new ones.
fn take_in(there: &[BTreeSet<IpAddr>], placed: &mut Vec<BTreeSet<IpAddr>>, mut newcomers: BTreeSet<IpAddr>) {
    for (before, slice) in there.iter().zip(placed.iter_mut()) {
        if *before != *slice {
            fill(slice, &mut newcomers);
        }
    }
    while newcomers.len() > MOST {
        let mut slice = BTreeSet::new();
        fill(&mut slice, &mut newcomers);
        placed.push(slice);
    }
    match placed.iter_mut().find(|slice| slice.len() + newcomers.len() <= MOST) {
        Some(slice) => slice.append(&mut newcomers),
        None => placed.push(newcomers),
    }
}

fn fill(slice: &mut BTreeSet<IpAddr>, newcomers: &mut BTreeSet<IpAddr>) {
    while slice.len() < MOST {
        let Some(address) = newcomers.pop_first() else { return };
        slice.insert(address);
    }
}

/// Slices that fit into one that is written anyway are moved there. Two slices have room for one another in no other case,
/// so that there are at most twice as many as it takes.
fn join(there: &[BTreeSet<IpAddr>], placed: &mut [BTreeSet<IpAddr>]) {
    for index in 0..placed.len() {
        let mut slice = std::mem::take(&mut placed[index]);
        if !slice.is_empty() && there.get(index) != Some(&slice) {
            for other in placed.iter_mut().filter(|other| !other.is_empty()) {
                if slice.len() + other.len() <= MOST {
                    slice.append(other);
                }
            }
        }
        placed[index] = slice;
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn addresses(numbers: impl IntoIterator<Item = u32>) -> BTreeSet<IpAddr> {
        numbers.into_iter().map(|number| Ipv4Addr::from_bits(number).into()).collect()
    }

    /// The sizes of slices of these sizes after endpoints have come and gone.
    fn sizes(before: &[u32], wanted: impl IntoIterator<Item = u32>) -> Vec<usize> {
        let there = before.iter().scan(0_u32, |first, size| {
            *first += 1000;
            Some(addresses(*first..*first + size))
        });
        place(&there.collect::<Vec<_>>(), addresses(wanted)).iter().map(BTreeSet::len).collect()
    }

    #[test]
    fn newcomers_go_where_there_is_room_for_all_of_them() {
        let first = || 1000..1099;
        assert_eq!(sizes(&[], 0..250), [100, 100, 50]);
        assert_eq!(sizes(&[99, 60], first().chain(2000..2060).chain(0..1)), [100, 60]);
        assert_eq!(sizes(&[99, 60], first().chain(2000..2060).chain(0..2)), [99, 62]);
        assert_eq!(sizes(&[99, 60], first().chain(2000..2060).chain(0..50)), [99, 60, 50]);
    }

    #[test]
    fn newcomers_go_first_where_others_have_gone() {
        assert_eq!(sizes(&[70, 80], (1000..1070).chain(2000..2079).chain(0..2)), [70, 81]);
        assert_eq!(sizes(&[100, 100], 0..150), [100, 50]);
    }

    #[test]
    fn a_slice_that_fits_into_one_that_is_written_is_moved_there() {
        assert_eq!(sizes(&[60, 30, 40], (1000..1059).chain(2000..2030).chain(3000..3040)), [89, 0, 40]);
        assert_eq!(sizes(&[60, 30], (1000..1060).chain(2000..2030)), [60, 30], "nothing is written");
    }

    #[test]
    fn whatever_comes_and_goes_slices_stay_half_full_and_nothing_is_lost() {
        let (mut slices, mut wanted, mut random) = (Vec::new(), BTreeSet::new(), 7_u32);
        for _ in 0..2000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (first, count) = ((random >> 16) & 1023, (random >> 8) & 31);
            for address in addresses(first..first + count) {
                if random & 0x8000_0000 == 0 {
                    wanted.insert(address);
                } else {
                    wanted.remove(&address);
                }
            }
            slices = place(&slices, wanted.clone());
            slices.retain(|slice: &BTreeSet<IpAddr>| !slice.is_empty());
            let mut sizes: Vec<usize> = slices.iter().map(BTreeSet::len).collect();
            sizes.sort_unstable();
            assert_eq!(sizes.iter().sum::<usize>(), wanted.len());
            assert_eq!(slices.iter().flatten().copied().collect::<BTreeSet<_>>(), wanted);
            assert!(sizes.last().is_none_or(|size| *size <= MOST));
            assert!(sizes.get(..2).is_none_or(|two| two.iter().sum::<usize>() > MOST), "{sizes:?}");
        }
    }
}
