//! Pods, and classes of those that have the same Namespace and labels.

use std::sync::Arc;

use antrea_policy::{NamedPort, Pod as Member, Text, Uid};
use k8s_openapi::api::core::v1::Pod;

use super::Listing;
use super::nodes::Nodes;
use crate::intern::lists::{Is, Lists};
use crate::intern::names::Names;
use crate::intern::pool::{
    ClassId, Hashed, NamespaceId, NodeId, PairId, PodId, Pool, SetId, insert_sorted, remove_sorted,
};
use crate::intern::vocabulary::ANY;
use crate::parse::pod::PodSpec;
use crate::{Index, Problem};

/// A Pod, or what the journal remembers of one.
#[derive(Debug, Default)]
pub(crate) struct Record {
    namespace: NamespaceId,
    /// Nothing when it is gone.
    pub(crate) class: Option<ClassId>,
    /// As it is, or was.
    member: Option<Arc<Member>>,
    uid: Option<Uid>,
    /// The Node that it is on; nothing when it is gone.
    pub(crate) node: Option<NodeId>,
    /// Whether the journal has it.
    pub(crate) is_journaled: bool,
    listing: Listing,
}

impl Record {
    fn is(&self, namespace: NamespaceId, name: &str) -> bool {
        self.namespace == namespace && self.member.as_ref().is_some_and(|member| *member.name == *name)
    }

    /// What a Pod is, and its class.
    pub(crate) fn state(&self) -> Option<State> {
        Some(State { class: self.class?, member: self.member.clone()?, uid: self.uid.clone()? })
    }

    pub(crate) fn uid(&self) -> Option<&Uid> {
        self.uid.as_ref()
    }

    pub(crate) fn member(&self) -> Option<&Arc<Member>> {
        self.member.as_ref()
    }
}

/// What a Pod is, or was, to groups.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) class: ClassId,
    pub(crate) member: Arc<Member>,
    pub(crate) uid: Uid,
}

/// Pods that change, and what they were before: mostly nothing, when there are many.
pub(crate) type Journal = Vec<(PodId, Option<Box<State>>)>;

/// The Pods of a Namespace that have the same labels.
#[derive(Debug, Default)]
pub(crate) struct Class {
    pub(crate) namespace: NamespaceId,
    pub(crate) labels: SetId,
    pub(crate) pods: Vec<PodId>,
}

/// All Pods. A Pod is held by itself and the journal, a class by its Pods and the journal.
#[derive(Debug, Default)]
pub(crate) struct Pods {
    pool: Pool<PodId, Record>,
    classes: Pool<ClassId, Class>,
    /// Of a Namespace, by each of their labels, and all by [`ANY`].
    by_label: Lists<(NamespaceId, PairId), ClassId>,
    /// The Namespaces that have any by a label.
    namespaces: Lists<PairId, NamespaceId>,
    /// The class that was held last: the next Pod is often of the same.
    last: Option<ClassId>,
    pub(crate) nodes: Nodes,
    ports: Names<Arc<[NamedPort]>>,
    /// What Pods were at the last settle, where they are something else now.
    pub(crate) journal: Journal,
    pub(crate) listing: Listing,
}

impl Pods {
    /// How many things are stored.
    pub(crate) fn size(&self) -> usize {
        let labels = self.by_label.len() + self.namespaces.len();
        self.pool.len() + self.classes.len() + labels + self.nodes.len()
    }

    pub(crate) fn get(&self, id: PodId) -> &Record {
        self.pool.get(id)
    }

    pub(crate) fn class(&self, id: ClassId) -> &Class {
        self.classes.get(id)
    }

    pub(crate) fn find(&self, namespace: NamespaceId, name: &str) -> Option<PodId> {
        self.pool.find(self.pool.hash((namespace, name)), |record| record.is(namespace, name))
    }

    /// Classes of a Namespace that have a label.
    pub(crate) fn classes_in(
        &self,
        namespace: NamespaceId,
        label: PairId,
    ) -> impl Iterator<Item = ClassId> + '_ {
        self.by_label.get((namespace, label))
    }

    /// Classes of all Namespaces that have a label, Namespace by Namespace.
    pub(crate) fn classes_with(&self, label: PairId) -> impl Iterator<Item = (NamespaceId, ClassId)> + '_ {
        let namespaces = self.namespaces.get(label);
        namespaces.flat_map(move |id| self.by_label.get((id, label)).map(move |class| (id, class)))
    }

    /// The class of some labels; where there is none, the hash that it is found by.
    fn find_class(&self, namespace: NamespaceId, labels: SetId) -> Result<ClassId, Hashed> {
        let same = |class: &Class| class.namespace == namespace && class.labels == labels;
        let is_last = |id: &ClassId| self.classes.holders(*id) > 0 && same(self.classes.get(*id));
        if let Some(last) = self.last.filter(is_last) {
            return Ok(last);
        }
        let hash = self.classes.hash((namespace, labels));
        self.classes.find(hash, same).ok_or(hash)
    }

    /// What a Pod is to groups, with a hold on its Node.
    fn member(&mut self, namespace: Text, spec: PodSpec<'_>) -> (Member, Option<NodeId>) {
        let ports = (!spec.ports.is_empty()).then(|| {
            let is_last = |ports: &Arc<[NamedPort]>| Arc::strong_count(ports) == 1;
            self.ports.intern(spec.ports.as_slice(), || spec.ports.as_slice().into(), is_last)
        });
        let id = spec.node.map(|node| self.nodes.hold(node));
        let node = id.map(|id| self.nodes.name(id).clone());
        (Member { namespace, name: spec.name.into(), ips: spec.ips, ports, node }, id)
    }

    /// Puts a Pod on a Node; the hold on that comes with it.
    fn place(&mut self, id: PodId, node: Option<NodeId>) {
        let before = std::mem::replace(&mut self.pool.get_mut(id).node, node);
        before.into_iter().for_each(|node| self.nodes.release(node));
    }
}

impl Index {
    /// Takes a Pod as it is now.
    pub fn apply_pod(&mut self, pod: &Pod) -> Vec<Problem> {
        let (spec, problems) = PodSpec::from_resource(pod);
        match (spec, &pod.metadata.namespace, &pod.metadata.name) {
            (Some(spec), _, _) => self.put_pod(spec),
            (None, Some(namespace), Some(name)) => self.delete_pod(namespace, name),
            (None, _, _) => {}
        }
        problems
    }

    /// Forgets a Pod.
    pub fn delete_pod(&mut self, namespace: &str, name: &str) {
        let id = self.namespaces.find(namespace).and_then(|namespace| self.pods.find(namespace, name));
        id.into_iter().for_each(|id| self.remove_pod(id));
    }

    pub(super) fn drop_unlisted_pods(&mut self) {
        let current = self.pods.listing;
        let all = self.pods.pool.iter().filter(|(_, record)| record.listing != current);
        let gone: Vec<PodId> = all.map(|(id, _)| id).collect();
        gone.into_iter().for_each(|id| self.remove_pod(id));
    }

    fn remove_pod(&mut self, id: PodId) {
        if self.pods.get(id).class.is_some() {
            self.journal_pod(id);
            self.leave_class(id);
            self.pods.place(id, None);
            self.release_pod(id);
        }
    }

    fn put_pod(&mut self, spec: PodSpec<'_>) {
        let namespace = self.namespaces.named(spec.namespace);
        let hash = self.pods.pool.hash((namespace, spec.name));
        let found = self.pods.pool.find(hash, |record| record.is(namespace, spec.name));
        let id = found.unwrap_or_else(|| {
            self.namespaces.hold(namespace);
            self.pods.pool.insert(hash, Record { namespace, ..Record::default() })
        });
        let (class, uid) = (self.hold_class(namespace, &spec), spec.uid.clone());
        let (member, node) = self.pods.member(self.namespaces.get(namespace).name.clone(), spec);
        let listing = self.pods.listing;
        let record = self.pods.pool.get_mut(id);
        record.listing = listing;
        let same = record.class == Some(class) && record.member.as_deref() == Some(&member);
        if same && record.uid.as_ref() == Some(&uid) {
            self.release_class(class);
            node.into_iter().for_each(|node| self.pods.nodes.release(node));
            return;
        }
        if record.class.is_none() {
            self.pods.pool.hold(id);
        }
        self.journal_pod(id);
        let record = self.pods.pool.get_mut(id);
        record.member = Some(Arc::new(member));
        record.uid = Some(uid);
        self.pods.place(id, node);
        if self.pods.get(id).class == Some(class) {
            self.release_class(class);
            return;
        }
        self.leave_class(id);
        self.pods.pool.get_mut(id).class = Some(class);
        insert_sorted(&mut self.pods.classes.get_mut(class).pods, id);
    }

    /// Notes what a Pod is before it changes for the first time since the last settle. The journal holds Pod and class.
    fn journal_pod(&mut self, id: PodId) {
        let record = self.pods.pool.get_mut(id);
        if record.is_journaled {
            return;
        }
        record.is_journaled = true;
        let before = record.state().map(Box::new);
        self.pods.pool.hold(id);
        before.iter().for_each(|state| self.pods.classes.hold(state.class));
        self.pods.journal.push((id, before));
    }

    /// The journal was read: what it held is let go.
    pub(crate) fn forget_pod_journal(&mut self, journal: Journal) {
        for (id, before) in journal {
            self.pods.pool.get_mut(id).is_journaled = false;
            self.release_pod(id);
            before.into_iter().for_each(|state| self.release_class(state.class));
        }
    }

    fn leave_class(&mut self, id: PodId) {
        let Some(class) = self.pods.pool.get_mut(id).class.take() else { return };
        remove_sorted(&mut self.pods.classes.get_mut(class).pods, &id);
        self.release_class(class);
    }

    fn hold_class(&mut self, namespace: NamespaceId, spec: &PodSpec<'_>) -> ClassId {
        let labels = self.vocabulary.hold_set(spec.labels);
        let id = match self.pods.find_class(namespace, labels) {
            Ok(found) => {
                self.vocabulary.release_set(labels);
                self.pods.classes.hold(found);
                found
            }
            Err(hash) => self.insert_class(hash, namespace, labels),
        };
        self.pods.last = Some(id);
        id
    }

    fn insert_class(&mut self, hash: Hashed, namespace: NamespaceId, labels: SetId) -> ClassId {
        let id = self.pods.classes.insert(hash, Class { namespace, labels, pods: Vec::new() });
        self.pods.classes.hold(id);
        self.namespaces.hold(namespace);
        for label in self.vocabulary.set(labels).iter().chain(&[ANY]) {
            if self.pods.by_label.insert((namespace, *label), id) == Is::Gone {
                self.pods.namespaces.insert(*label, namespace);
            }
        }
        id
    }

    fn release_class(&mut self, id: ClassId) {
        let Some(class) = self.pods.classes.release(id) else { return };
        for label in self.vocabulary.set(class.labels).iter().chain(&[ANY]) {
            if self.pods.by_label.remove((class.namespace, *label), &id) == Is::Gone {
                self.pods.namespaces.remove(*label, &class.namespace);
            }
        }
        self.vocabulary.release_set(class.labels);
        self.namespaces.release(class.namespace);
    }

    fn release_pod(&mut self, id: PodId) {
        if let Some(record) = self.pods.pool.release(id) {
            self.namespaces.release(record.namespace);
        }
    }
}
