//! ResourceImports: those that are wanted, and those that are there.
//!
//! What a ResourceImport imports gives it one of two names. One with another name is somebody else's, and is left alone;
//! one with such a name is the leader's, also if somebody else made or edited it.

use std::collections::{BTreeMap, BTreeSet};

use antrea_kit::watch::WatchEvent;
use antrea_mc_core::ids::NamespacedName;
use antrea_mc_core::names::{Holder, Names, Resource};
use antrea_shared_api::labels::identity_name;
use antrea_shared_api::multicluster::v1alpha1::{ImportKind, ResourceImport, ResourceImportSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::action::{Action, Target};
use crate::answers::Answers;
use crate::change::Change;
use crate::objects::{Objects, Record, version_of};

/// A ResourceImport, as the leader keeps it: without its status, in which members may say much.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    target: Target,
    version: u64,
    is_deleted: bool,
    spec: ResourceImportSpec,
}

impl Record for Import {
    fn name(&self) -> &str {
        &self.target.name
    }

    fn version(&self) -> u64 {
        self.version
    }
}

impl From<ResourceImport> for Import {
    fn from(object: ResourceImport) -> Self {
        Self {
            target: target(&object.metadata),
            version: version_of(&object.metadata),
            is_deleted: object.metadata.deletion_timestamp.is_some(),
            spec: object.spec,
        }
    }
}

/// An import as it should be.
#[derive(Clone, Debug)]
struct Wanted {
    resource: Resource,
    spec: ResourceImportSpec,
}

/// The ResourceImports of a Common Area.
#[derive(Clone, Debug, Default)]
pub(crate) struct Imports {
    wanted: BTreeMap<String, Wanted>,
    known: Objects<Box<Import>>,
    answers: Answers<ResourceImportSpec>,
}

impl Imports {
    pub(crate) const fn is_complete(&self) -> bool {
        self.known.is_complete()
    }

    pub(crate) const fn round(&self) -> u64 {
        self.known.round()
    }

    /// What is there.
    pub(crate) fn specs(&self) -> impl Iterator<Item = &ResourceImportSpec> {
        self.known.iter().map(|(_, import)| &import.spec)
    }

    /// Takes in what the watch tells; names the imports that it is about.
    pub(crate) fn learn(&mut self, event: WatchEvent<Box<Import>>) -> BTreeSet<String> {
        self.answers.learn(&event);
        self.known.learn(event)
    }

    /// Takes in what became of `action`, which was sent in the round `asked`.
    pub(crate) fn learn_answer(
        &mut self,
        action: &Action,
        answer: Box<Import>,
        asked: u64,
    ) -> BTreeSet<String> {
        let wanted = match action {
            Action::CreateImport(import) => Some(&import.spec),
            Action::ChangeImport(change) => Some(&change.wanted),
            _ => None,
        };
        if let Some(wanted) = wanted
            && self.answers.note(answer.name(), wanted.clone(), answer.spec.clone())
        {
            tracing::warn!(
                import = answer.name(),
                "API server keeps less of a ResourceImport than was written: install the CustomResourceDefinitions \
                 of this version"
            );
        }
        self.known.learn_answer(answer, asked)
    }

    /// From now on, `import` is what the exports of `resource` come to. Gives the name, if that is news.
    pub(crate) fn want(&mut self, resource: &Resource, import: Option<ResourceImportSpec>) -> Option<String> {
        let names = Names::of_import(resource);
        let is_it = |name: &&str| self.wanted.get(*name).is_some_and(|wanted| wanted.resource == *resource);
        let wanted = names.both().into_iter().find(is_it);
        let Some(spec) = import else {
            if let Some(name) = wanted {
                self.wanted.remove(name);
                self.answers.forget(name);
            }
            // It may be there though nobody wanted it, and was not withdrawn before that was certain.
            let is_there = |name: &&str| self.holder(name, resource) == Holder::Itself;
            return wanted.or_else(|| names.both().into_iter().find(is_there)).map(str::to_owned);
        };
        let name = wanted.unwrap_or_else(|| names.choose(|name| self.holder(name, resource)));
        if self.wanted.get(name).is_some_and(|wanted| wanted.spec == spec) {
            return None;
        }
        self.wanted.insert(name.to_owned(), Wanted { resource: resource.clone(), spec });
        Some(name.to_owned())
    }

    /// What the import of this name imports.
    pub(crate) fn resource_of(&self, name: &str) -> Option<Resource> {
        resource(&self.known.get(name)?.spec)
    }

    /// What has a name: what is wanted under it, or else what is there.
    fn holder(&self, name: &str, own: &Resource) -> Holder {
        let wanted = self.wanted.get(name).map(|wanted| wanted.resource.clone());
        let known = || resource(&self.known.get(name).filter(|known| is_leaders(known))?.spec);
        match wanted.or_else(known) {
            None => Holder::Nobody,
            Some(resource) if resource == *own => Holder::Itself,
            Some(_) => Holder::Another,
        }
    }

    /// What brings an import in line, if something has to.
    pub(crate) fn plan(&self, namespace: &str, name: &str) -> Option<Action> {
        let (wanted, known) = (self.wanted.get(name).map(|wanted| &wanted.spec), self.known.get(name));
        if known.is_some_and(|known| known.is_deleted) {
            return None;
        }
        match (wanted, known) {
            (Some(wanted), None) => {
                let mut import = ResourceImport::new(namespace, name);
                import.spec = wanted.clone();
                Some(Action::CreateImport(Box::new(import)))
            }
            (Some(wanted), Some(known)) => {
                // Which clusters an import is for is the admin's affair: no export says it.
                let cluster_ids = known.spec.cluster_ids.clone();
                let wanted = ResourceImportSpec { cluster_ids, ..wanted.clone() };
                if self.answers.satisfy(name, &wanted, &known.spec) {
                    return None;
                }
                Some(Action::ChangeImport(Box::new(Change::new(name, &known.spec, wanted)?)))
            }
            (None, Some(known)) if is_leaders(known) => Some(Action::DeleteImport(known.target.clone())),
            (None, _) => None,
        }
    }
}

pub(crate) fn target(metadata: &ObjectMeta) -> Target {
    Target {
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone(),
        version: metadata.resource_version.clone(),
    }
}

/// Whether an import has a name that a leader, ours or upstream's, gives what it imports.
fn is_leaders(import: &Import) -> bool {
    resource(&import.spec).is_some_and(|of| Names::of_import(&of).both().contains(&import.name()))
}

/// What an import imports.
fn resource(spec: &ResourceImportSpec) -> Option<Resource> {
    let namespaced = || NamespacedName::new(&spec.namespace, &spec.name).ok();
    match spec.kind {
        ImportKind::ServiceImport => namespaced().map(Resource::Service),
        ImportKind::Endpoints => namespaced().map(Resource::Endpoints),
        ImportKind::ExternalEntity => namespaced().map(Resource::ExternalEntity),
        ImportKind::ClusterInfo => {
            spec.cluster_info.as_ref()?.cluster_id.parse().ok().map(Resource::ClusterInfo)
        }
        ImportKind::AntreaClusterNetworkPolicy => Some(Resource::Policy(spec.name.clone())),
        ImportKind::LabelIdentity => {
            spec.label_identity.as_ref().map(|of| Resource::LabelIdentity(identity_name(&of.label)))
        }
        ImportKind::Other(_) => None,
    }
}
