//! Which names imports have.

use antrea_mc_core::ids::NamespacedName;
use antrea_mc_core::names::{Names, Resource};
use serde_json::Value;

use super::imports::web;
use super::world::World;

/// A Service that `east` exports, in ResourceExports of this number.
fn service(number: usize, namespace: &str, name: &str) -> String {
    web("east", 80, "10.100.0.1", 1)
        .replace("east-shop-web-", &format!("east-{number}-"))
        .replace("name: web, namespace: shop", &format!("name: {name}, namespace: {namespace}"))
}

/// What the leader does first with each object, without its content.
fn briefly(actions: &str) -> String {
    actions.lines().map(|line| line.split(" {").next().unwrap_or_default().to_owned() + "\n").collect()
}

#[test]
fn a_name_has_a_hash_only_where_something_else_has_the_plain_one() {
    let mut world = World::of(&service(1, "shop-web", "api"));
    insta::assert_snapshot!(briefly(&world.actions()), @"
    create ResourceImport shop-web-api-endpoints
    create ResourceImport shop-web-api-service
    tell east-1-endpoints: Succeeded=True
    tell east-1-service: Succeeded=True | Conflict=False NoConflicts
    ");
    world.apply(&service(2, "shop", "web-api"));
    let hashed = |of: fn(NamespacedName) -> Resource| {
        Names::of_import(&of(NamespacedName::new("shop", "web-api").unwrap())).hashed
    };
    let (endpoints, of_service) = (hashed(Resource::Endpoints), hashed(Resource::Service));
    let actions = briefly(&world.actions());
    let created = format!("create ResourceImport {endpoints}\ncreate ResourceImport {of_service}\ntell ");
    assert!(actions.starts_with(&created), "{actions}");
    world.delete("ResourceExport", "east-1-service");
    world.delete("ResourceExport", "east-1-endpoints");
    insta::assert_snapshot!(briefly(&world.actions()), @"
    delete ResourceImport shop-web-api-endpoints
    delete ResourceImport shop-web-api-service
    keep finalizers [] of ResourceExport east-1-endpoints
    keep finalizers [] of ResourceExport east-1-service
    ");
    world.restart();
    assert_eq!(world.actions(), "", "what is there keeps its name");
}

/// Gives all imports the names that they had where each Namespace with a dash meant a hash.
fn name_with_hashes(world: &mut World) {
    for mut import in world.all::<Value>("ResourceImport") {
        let of = |field: &str| import["spec"][field].as_str().unwrap_or_default();
        let name = NamespacedName::new(of("namespace"), of("name")).unwrap();
        let resource = match of("kind") {
            "ServiceImport" => Resource::Service(name),
            _ => Resource::Endpoints(name),
        };
        let names = Names::of_import(&resource);
        world.delete("ResourceImport", &names.plain);
        import["metadata"]["name"] = names.hashed.into();
        world.apply(&import.to_string());
    }
}

#[test]
fn imports_keep_the_names_that_they_have() {
    let services = (0..40).map(|number| service(number, &format!("my-ns-{number}"), "foo"));
    let mut world = World::of(&services.collect::<String>());
    world.actions();
    name_with_hashes(&mut world);
    world.restart();
    assert_eq!(world.actions(), "");
    world.apply(&service(40, "my-ns", "foo"));
    let actions = briefly(&world.actions());
    let created = "create ResourceImport my-ns-foo-endpoints\ncreate ResourceImport my-ns-foo-service\ntell ";
    assert!(actions.starts_with(created), "{actions}");
}

#[test]
fn an_import_under_a_second_name_goes() {
    let mut world = World::of(&service(1, "shop-web", "api"));
    world.actions();
    let mut second = world.object("ResourceImport", "shop-web-api-service");
    let resource = Resource::Service(NamespacedName::new("shop-web", "api").unwrap());
    let hashed = Names::of_import(&resource).hashed;
    second["metadata"]["name"] = hashed.clone().into();
    world.apply(&second.to_string());
    assert_eq!(world.actions(), format!("delete ResourceImport {hashed}\n"));
}
