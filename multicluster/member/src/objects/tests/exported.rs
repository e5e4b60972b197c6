//! What is known of Services and EndpointSlices where those without a ServiceExport are packed.

use super::*;

const KINDS: [Kind; 3] = [Kind::ServiceExport, Kind::Service, Kind::EndpointSlice];

fn named(name: &str, version: u32) -> Value {
    json!({ "metadata": { "name": name, "namespace": "shop", "resourceVersion": version.to_string() } })
}

fn slice(name: &str, service: &str, version: u32) -> Value {
    let mut slice = named(name, version);
    slice["metadata"]["labels"] = json!({ SERVICE_LABEL: service });
    slice
}

fn empty() -> Objects {
    Objects::keeping_exported(BTreeSet::from([Kind::Service, Kind::EndpointSlice]))
}

/// The Services `api` and `web`, which have an EndpointSlice each, and no ServiceExport.
fn shop() -> Objects {
    let mut objects = empty();
    let services = vec![named("api", 1), named("web", 2)];
    let slices = vec![slice("api-1", "api", 3), slice("web-1", "web", 4)];
    assert_eq!(objects.learn(Kind::Service, WatchEvent::Resynced(services)), []);
    assert_eq!(objects.learn(Kind::EndpointSlice, WatchEvent::Resynced(slices)), []);
    objects
}

/// The names of what has changed: of what is new, and of what was there.
fn told(changes: &[Change]) -> String {
    let sign = |before: &Option<Value>| if before.is_none() { '+' } else { '-' };
    let all = changes.iter().map(|Change { key, before }| format!("{}{}", sign(before), key.name));
    all.collect::<Vec<_>>().join(" ")
}

/// The Services and EndpointSlices that are known.
fn known(objects: &Objects) -> String {
    let of = |kind| objects.all(kind).map(|(key, object)| format!("{}@{}", key.name, version(object)));
    of(Kind::Service).chain(of(Kind::EndpointSlice)).collect::<Vec<_>>().join(" ")
}

fn export(objects: &mut Objects, name: &str) -> String {
    told(&objects.learn(Kind::ServiceExport, WatchEvent::Applied(named(name, 1))))
}

#[test]
fn services_without_an_export_are_no_objects() {
    let mut objects = shop();
    assert_eq!(objects.get(&Key::new(Kind::Service, "shop", "web")), None);
    assert_eq!(objects.slices("shop", "web").count(), 0);
    assert!(objects.has_listed(Kind::Service) && objects.has_listed(Kind::EndpointSlice));
    for event in [WatchEvent::Applied(named("web", 5)), WatchEvent::Deleted(named("web", 6))] {
        assert_eq!(objects.learn(Kind::Service, event), []);
    }
    assert_eq!(objects.keys().count(), 0);
}

#[test]
fn an_export_makes_its_service_and_slices_known() {
    let ways: [fn(&mut Objects, Value) -> Vec<Change>; 3] = [
        |objects, export| objects.learn(Kind::ServiceExport, WatchEvent::Applied(export)),
        |objects, export| objects.learn(Kind::ServiceExport, WatchEvent::Resynced(vec![export])),
        |objects, export| objects.insert(Kind::ServiceExport, export),
    ];
    for comes in ways {
        let mut objects = shop();
        assert_eq!(told(&comes(&mut objects, named("web", 1))), "+web +web +web-1");
        assert_eq!((known(&objects).as_str(), objects.slices("shop", "web").count()), ("web@2 web-1@4", 1));
        assert_eq!(told(&comes(&mut objects, named("web", 2))), "-web", "the export alone has changed");
    }
    let (mut objects, mut elsewhere) = (shop(), named("web", 1));
    elsewhere["metadata"]["namespace"] = json!("shop-2");
    objects.learn(Kind::ServiceExport, WatchEvent::Applied(elsewhere));
    assert_eq!(known(&objects), "", "it is of another Namespace");
}

#[test]
fn an_export_that_goes_packs_them_again() {
    let ways: [fn(&mut Objects) -> Vec<Change>; 3] = [
        |objects| objects.learn(Kind::ServiceExport, WatchEvent::Deleted(named("web", 1))),
        |objects| objects.learn(Kind::ServiceExport, WatchEvent::Resynced(vec![named("api", 1)])),
        |objects| objects.remove(&Key::new(Kind::ServiceExport, "shop", "web")),
    ];
    for goes in ways {
        let mut objects = shop();
        for name in ["api", "web"] {
            export(&mut objects, name);
        }
        let changes = goes(&mut objects);
        assert_eq!(told(&changes), "-web -web -web-1");
        assert_eq!(changes[1].before, Some(named("web", 2)));
        assert_eq!((known(&objects).as_str(), objects.slices("shop", "web").count()), ("api@1 api-1@3", 0));
        assert_eq!(export(&mut objects, "web"), "+web +web +web-1");
        objects.forget(Kind::ServiceExport);
        assert_eq!(known(&objects), "");
        export(&mut objects, "web");
        assert_eq!(known(&objects), "web@2 web-1@4");
    }
}

#[test]
fn a_slice_that_moves_to_another_service_is_its() {
    let moves = |objects: &mut Objects, service: &str, version: u32| {
        let moved = slice("web-1", service, version);
        told(&objects.learn(Kind::EndpointSlice, WatchEvent::Applied(moved)))
    };
    let mut objects = shop();
    export(&mut objects, "web");
    assert_eq!(moves(&mut objects, "api", 5), "-web-1");
    assert_eq!(known(&objects), "web@2");
    assert_eq!(moves(&mut objects, "cart", 6), "");
    assert_eq!(export(&mut objects, "api"), "+api +api +api-1", "it is of api no more");
    assert_eq!(moves(&mut objects, "api", 7), "+web-1");
    assert_eq!(known(&objects), "api@1 web@2 api-1@3 web-1@7");
    assert_eq!(moves(&mut objects, "web", 8), "-web-1");
    assert_eq!(["api", "web"].map(|name| objects.slices("shop", name).count()), [1, 1]);
    let gone = objects.remove(&Key::new(Kind::ServiceExport, "shop", "web"));
    assert_eq!(told(&gone), "-web -web -web-1");
    assert_eq!(moves(&mut objects, "cart", 9), "");
    assert_eq!(export(&mut objects, "cart"), "+cart +web-1");
    assert_eq!(known(&objects), "api@1 api-1@3 web-1@9");
}

#[test]
fn a_packed_object_that_is_gone_does_not_come_back() {
    let ways: [fn(&mut Objects); 4] = [
        |objects| {
            objects.learn(Kind::Service, WatchEvent::Deleted(named("web", 5)));
            objects.learn(Kind::EndpointSlice, WatchEvent::Deleted(slice("web-1", "web", 6)));
        },
        |objects| {
            objects.learn(Kind::Service, WatchEvent::Resynced(vec![named("api", 1)]));
            objects.learn(Kind::EndpointSlice, WatchEvent::Resynced(Vec::new()));
        },
        |objects| {
            objects.remove(&Key::new(Kind::Service, "shop", "web"));
            objects.remove(&Key::new(Kind::EndpointSlice, "shop", "web-1"));
        },
        |objects| [Kind::Service, Kind::EndpointSlice].iter().for_each(|kind| objects.forget(*kind)),
    ];
    for goes in ways {
        let mut objects = shop();
        goes(&mut objects);
        assert_eq!(export(&mut objects, "web"), "+web");
        assert_eq!(known(&objects), "");
    }
}

#[test]
fn what_is_outdated_is_not_packed_over_newer() {
    let mut objects = shop();
    let tell = |objects: &mut Objects, event| assert_eq!(objects.learn(Kind::Service, event), []);
    tell(&mut objects, WatchEvent::Applied(named("web", 7)));
    for late in [WatchEvent::Applied(named("web", 5)), WatchEvent::Deleted(named("web", 6))] {
        tell(&mut objects, late);
    }
    export(&mut objects, "web");
    assert_eq!(known(&objects), "web@7 web-1@4");
    objects.remove(&Key::new(Kind::ServiceExport, "shop", "web"));
    tell(&mut objects, WatchEvent::Applied(named("web", 6)));
    export(&mut objects, "web");
    assert_eq!(known(&objects), "web@7 web-1@4", "it was packed again meanwhile");
    objects.remove(&Key::new(Kind::ServiceExport, "shop", "web"));
    tell(&mut objects, WatchEvent::Resynced(vec![named("web", 3)]));
    export(&mut objects, "web");
    assert_eq!(known(&objects), "web@3 web-1@4", "a list counts in any case");
}

#[test]
fn an_answer_is_packed_unless_the_watch_has_told_of_it() {
    for (answered, expected) in [(2, ""), (5, ""), (6, "web@6 ")] {
        let mut objects = shop();
        objects.learn(Kind::Service, WatchEvent::Deleted(named("web", 5)));
        assert_eq!(objects.insert(Kind::Service, named("web", answered)), []);
        export(&mut objects, "web");
        assert_eq!(known(&objects), format!("{expected}web-1@4"));
    }
}

#[test]
fn what_is_not_kept_by_exports_is_known_without_them() {
    let mut objects = Objects::keeping_exported(BTreeSet::from([Kind::Service]));
    objects.learn(Kind::Service, WatchEvent::Applied(named("web", 2)));
    objects.learn(Kind::EndpointSlice, WatchEvent::Applied(slice("web-1", "web", 4)));
    assert_eq!(known(&objects), "web-1@4");
    assert_eq!(export(&mut objects, "web"), "+web +web");
    assert_eq!(told(&objects.remove(&Key::new(Kind::ServiceExport, "shop", "web"))), "-web -web");
    assert_eq!(known(&objects), "web-1@4");
    let mut objects = Objects::default();
    objects.learn(Kind::Service, WatchEvent::Applied(named("web", 2)));
    assert_eq!(known(&objects), "web@2");
}

/// All objects that are known.
fn all(objects: &Objects) -> BTreeMap<Key, Value> {
    let all = KINDS.iter().flat_map(|kind| objects.all(*kind));
    all.map(|(key, object)| (key.clone(), object.clone())).collect()
}

/// Those of a store that packs nothing that are exported.
fn exported_of(whole: &Objects) -> BTreeMap<Key, Value> {
    let mut exported = all(whole);
    exported.retain(|key, object| {
        let service = match key.kind {
            Kind::EndpointSlice => label(object, SERVICE_LABEL).unwrap_or_default(),
            _ => key.name.as_str(),
        };
        whole.get(&Key::new(Kind::ServiceExport, "shop", service)).is_some()
    });
    exported
}

/// What is in these sequences in all orders in which each of them keeps its own.
fn interleaved<T: Clone>(sequences: &[Vec<T>]) -> Vec<Vec<T>> {
    if sequences.iter().all(Vec::is_empty) {
        return vec![Vec::new()];
    }
    let mut orders = Vec::new();
    for (index, sequence) in sequences.iter().enumerate() {
        let Some((first, rest)) = sequence.split_first() else { continue };
        let mut left = sequences.to_vec();
        left[index] = rest.to_vec();
        orders.extend(interleaved(&left).into_iter().map(|order| [vec![first.clone()], order].concat()));
    }
    orders
}

#[test]
fn lists_in_any_order_give_the_same_objects() {
    let of = |kind: Kind, events: Vec<WatchEvent<Value>>| -> Vec<(Kind, WatchEvent<Value>)> {
        events.into_iter().map(|event| (kind, event)).collect()
    };
    let (listed, applied) = (WatchEvent::Resynced, WatchEvent::Applied);
    let exports =
        vec![listed(vec![named("web", 1)]), applied(named("api", 2)), WatchEvent::Deleted(named("web", 3))];
    let services = vec![
        listed(vec![named("api", 2), named("web", 3)]),
        applied(named("api", 5)),
        applied(named("api", 4)),
    ];
    let slices = vec![
        listed(vec![slice("api-1", "api", 1), slice("web-1", "web", 2)]),
        applied(slice("web-1", "api", 3)),
        listed(vec![slice("web-1", "api", 3), slice("cart-1", "cart", 4)]),
    ];
    let sequences =
        [of(Kind::ServiceExport, exports), of(Kind::Service, services), of(Kind::EndpointSlice, slices)];
    for order in interleaved(&sequences) {
        let (mut objects, mut whole) = (empty(), Objects::default());
        let mut told: BTreeMap<Key, Value> = BTreeMap::new();
        for (kind, event) in order {
            whole.learn(kind, event.clone());
            for Change { key, before } in objects.learn(kind, event) {
                assert_eq!(told.remove(&key), before, "{key} was something else");
                told.extend(objects.get(&key).map(|object| (key, object.clone())));
            }
            let expected = exported_of(&whole);
            assert_eq!((&all(&objects), &told), (&expected, &expected));
        }
        assert_eq!(known(&objects), "api@5 web-1@3");
    }
}
