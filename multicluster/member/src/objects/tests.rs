//! What is known after lists, watches and answers that come in any order.

mod exported;

use serde_json::json;

use super::*;

const KIND: Kind = Kind::ResourceExport;

fn object(name: &str, version: u32) -> Value {
    json!({ "metadata": { "name": name, "resourceVersion": version.to_string() } })
}

fn listed(all: &[(&str, u32)]) -> Objects {
    let mut objects = Objects::default();
    objects.learn(
        KIND,
        WatchEvent::Resynced(all.iter().map(|(name, version)| object(name, *version)).collect()),
    );
    objects
}

fn known(objects: &Objects) -> String {
    let all: Vec<String> =
        objects.all(KIND).map(|(key, object)| format!("{}@{}", key.name, version(object))).collect();
    all.join(" ")
}

#[test]
fn an_answer_that_is_looked_at_late_does_not_undo_what_the_watch_told() {
    let mut objects = listed(&[]);
    objects.learn(KIND, WatchEvent::Applied(object("a", 5)));
    assert_eq!(objects.insert(KIND, object("a", 3)), []);
    assert_eq!(known(&objects), "a@5");
    objects.learn(KIND, WatchEvent::Deleted(object("a", 6)));
    assert_eq!(objects.insert(KIND, object("a", 5)), []);
    assert_eq!(known(&objects), "");
}

#[test]
fn a_watch_that_lags_behind_does_not_undo_an_answer() {
    let mut objects = listed(&[("a", 1)]);
    assert_eq!(objects.insert(KIND, object("a", 5)).len(), 1);
    assert_eq!(objects.learn(KIND, WatchEvent::Applied(object("a", 3))), []);
    assert_eq!(objects.learn(KIND, WatchEvent::Deleted(object("a", 4))), []);
    assert_eq!(known(&objects), "a@5");
}

#[test]
fn each_list_begins_a_round_also_after_everything_was_forgotten() {
    let mut objects = listed(&[("a", 1)]);
    assert_eq!((objects.round(KIND), objects.round(Kind::Service)), (1, 0));
    objects.learn(KIND, WatchEvent::Applied(object("a", 2)));
    assert_eq!(objects.round(KIND), 1);
    objects.forget(KIND);
    objects.learn(KIND, WatchEvent::Resynced(Vec::new()));
    assert_eq!(objects.round(KIND), 2);
}

#[test]
fn slices_are_found_by_their_service() {
    let slice = |name: &str, service: &str| json!({ "metadata": { "name": name, "namespace": "shop", "labels": { SERVICE_LABEL: service } } });
    let mut objects = Objects::default();
    let all = vec![slice("a", "web"), slice("b", "web-2"), slice("c", "web")];
    objects.learn(Kind::EndpointSlice, WatchEvent::Resynced(all));
    let of = |objects: &Objects, service: &str| -> Vec<String> {
        objects.slices("shop", service).map(|(key, _)| key.name.clone()).collect()
    };
    assert_eq!(
        (of(&objects, "web"), of(&objects, "web-2")),
        (vec!["a".into(), "c".into()], vec!["b".into()])
    );
    objects.learn(Kind::EndpointSlice, WatchEvent::Applied(slice("a", "web-2")));
    objects.learn(Kind::EndpointSlice, WatchEvent::Deleted(slice("c", "web")));
    assert_eq!((of(&objects, "web"), of(&objects, "web-2")), (vec![], vec!["a".into(), "b".into()]));
    objects.forget(Kind::EndpointSlice);
    assert_eq!(of(&objects, "web-2"), Vec::<String>::new());
}

#[test]
fn services_and_policies_that_are_imported_are_found_by_what_they_are() {
    let import = |name: &str, kind: &str, namespace: &str, of: &str| json!({ "metadata": { "name": name, "namespace": "area" }, "spec": { "kind": kind, "namespace": namespace, "name": of } });
    let mut objects = Objects::default();
    let all = vec![
        import("a", "ServiceImport", "shop", "web"),
        import("b", "Endpoints", "shop", "web"),
        import("c", "ServiceImport", "shop", "api"),
        import("d", "ServiceImport", "shop-2", "api"),
        import("e", "AntreaClusterNetworkPolicy", "", "strict"),
        import("f", "LabelIdentity", "shop", "labels"),
    ];
    objects.learn(Kind::ResourceImport, WatchEvent::Resynced(all));
    let known = |objects: &Objects| {
        let services: Vec<&str> = objects.imported_services("shop").collect();
        let policies: Vec<&str> = objects.imported_policies().collect();
        format!("{} and {}", services.join(" "), policies.join(" "))
    };
    assert_eq!(known(&objects), "api web web and strict");
    objects.learn(Kind::ResourceImport, WatchEvent::Deleted(import("b", "Endpoints", "shop", "web")));
    objects.learn(Kind::ResourceImport, WatchEvent::Applied(import("c", "ServiceImport", "shop-2", "api")));
    assert_eq!(known(&objects), "web and strict");
    objects.forget(Kind::ResourceImport);
    assert_eq!(known(&objects), " and ");
}

#[test]
fn labels_are_known_while_a_pod_or_an_export_has_them() {
    let pod = |name: &str, app: &str| json!({ "metadata": { "name": name, "namespace": "shop", "labels": { "app": app } } });
    let export = |app: &str| json!({ "metadata": { "name": "a", "namespace": "area" }, "spec": { "kind": "LabelIdentity", "labelIdentity": { "normalizedLabel": format!("ns:kubernetes.io/metadata.name=shop&pod:app={app}") } } });
    let mut objects = Objects::default();
    objects.learn(Kind::Pod, WatchEvent::Resynced(vec![pod("a", "web"), pod("b", "web"), pod("c", "api")]));
    objects.learn(Kind::ResourceExport, WatchEvent::Applied(export("web")));
    let known = |objects: &Objects| -> Vec<String> {
        let sets = objects.label_sets("shop");
        sets.map(|set| {
            let app = set.labels.get("app").map_or("", String::as_str);
            format!("{app}: {} Pods, {} exports", objects.pods_with(set), objects.exports_of(set).count())
        })
        .collect()
    };
    assert_eq!(known(&objects), ["api: 1 Pods, 0 exports", "web: 2 Pods, 1 exports"]);
    objects.learn(Kind::Pod, WatchEvent::Applied(pod("b", "api")));
    objects.learn(Kind::Pod, WatchEvent::Deleted(pod("a", "web")));
    assert_eq!(known(&objects), ["api: 2 Pods, 0 exports", "web: 0 Pods, 1 exports"]);
    objects.learn(Kind::ResourceExport, WatchEvent::Applied(export("api")));
    objects.forget(Kind::Pod);
    assert_eq!(known(&objects), ["api: 0 Pods, 1 exports"]);
}

#[test]
fn a_value_is_found_as_its_pointer_says() {
    let object = json!({ "a": [{ "b": "c" }], "": 1 });
    for pointer in ["", "/a", "/a/0", "/a/0/b", "/a/1", "/a/b", "/a/0/b/c", "/"] {
        assert_eq!(at(&object, pointer), object.pointer(pointer), "{pointer:?}");
    }
}

#[test]
fn a_list_counts_also_after_the_api_server_has_lost_what_is_newer() {
    let mut objects = listed(&[("a", 9), ("b", 8)]);
    let all = vec![object("a", 2), object("c", 3)];
    assert_eq!(objects.learn(KIND, WatchEvent::Resynced(all)).len(), 3);
    assert_eq!(known(&objects), "a@2 c@3");
    assert_eq!(objects.insert(KIND, object("a", 4)).len(), 1);
    assert_eq!(known(&objects), "a@4 c@3");
}
