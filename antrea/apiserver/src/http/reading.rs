//! Answers to get and list.

use std::net::IpAddr;

use antrea_kit::query::Query;
use antrea_shared_api::api::Listed;
use antrea_shared_api::controlplane::v1beta2::{
    AddressGroup, AppliedToGroup, EgressGroup, GroupAssociation, IPGroupAssociation, NetworkPolicy,
};
use antrea_shared_api::meta::{List, Metadata, Printed, Table};
use antrea_shared_api::protobuf::{Field, Message};
use antrea_shared_api::stats::v1alpha1::{
    AntreaClusterNetworkPolicyStats, AntreaNetworkPolicyStats, MulticastGroup,
};
use hyper::{HeaderMap, StatusCode};
use serde::Serialize;

use super::accept::{Format, negotiate};
use super::answer::{self, Answer, json_object, plain, printed};
use super::empty::{NodeLatencyStats, SupportBundleCollection};
use super::failure::Failure;
use super::request::ResourcePath;
use super::resources::Served;
use super::{Api, Caller};
use crate::store::{Content, Kind, Selector};
use crate::wire;

const ALL: &[Format] = &[Format::Json, Format::Protobuf, Format::Table];
const OBJECTS: &[Format] = &[Format::Json, Format::Protobuf];

/// A request for one object or a list of them.
pub(super) struct Reading<'a> {
    pub(super) api: &'a Api,
    pub(super) path: &'a ResourcePath,
    pub(super) query: &'a Query,
    pub(super) headers: &'a HeaderMap,
    pub(super) caller: Caller<'a>,
}

impl Reading<'_> {
    pub(super) fn answer(&self, served: Served) -> Result<Answer, Failure> {
        match served {
            Served::Watched(kind) => self.watched(kind),
            Served::EgressGroups => {
                self.selected()?;
                self.objects(Vec::new(), |group: &EgressGroup| &group.metadata)
            }
            Served::SupportBundleCollections => {
                self.selected()?;
                self.objects(Vec::new(), |collection: &SupportBundleCollection| &collection.metadata)
            }
            Served::GroupAssociations => self.association(&GroupAssociation::default()),
            Served::IpGroupAssociations => match self.path.name.parse::<IpAddr>() {
                Ok(_) => self.association(&IPGroupAssociation::default()),
                Err(_) => Err(Failure::bad_request(format!("{:?} is not an IP address", self.path.name))),
            },
            Served::GroupMembers => Err(Failure::no_such_object(self.path)),
            Served::ControllerInfos => self.controller_infos(),
            Served::PolicyStats => match self.api.cluster.network_policy_stats() {
                Some(stats) => self.stats(stats),
                None => Err(Failure::bad_request("feature NetworkPolicyStats disabled")),
            },
            Served::ClusterNetworkPolicyStats => self.stats(Vec::<AntreaClusterNetworkPolicyStats>::new()),
            Served::AntreaPolicyStats => self.stats(Vec::<AntreaNetworkPolicyStats>::new()),
            Served::MulticastGroups => self.stats(Vec::<MulticastGroup>::new()),
            Served::NodeLatencyStats => self.stats(Vec::<NodeLatencyStats>::new()),
            Served::PolicyStatus | Served::NodeStats | Served::Evaluation => Err(Failure::no_such_method()),
        }
    }

    /// What is selected, if whoever asks may have it.
    fn selected(&self) -> Result<Selector, Failure> {
        let selector = match self.path.name.as_str() {
            "" => selector(self.query)?,
            name => Selector { node: None, name: Some(name.to_owned()) },
        };
        self.caller.reach.check_selected(self.caller.action, &selector)?;
        Ok(selector)
    }

    fn watched(&self, kind: Kind) -> Result<Answer, Failure> {
        let selector = self.selected()?;
        let found = self.api.store.look(|store| store.list(kind, &selector));
        match kind {
            Kind::Policies => self.objects(objects(&found, policy), |policy| &policy.metadata),
            Kind::AddressGroups => self.objects(objects(&found, address_group), |group| &group.metadata),
            Kind::AppliedToGroups => self.objects(objects(&found, applied_to_group), |group| &group.metadata),
        }
    }

    /// Objects of which kubectl prints name and age.
    fn objects<T: Listed + Field + Message + Serialize>(
        &self,
        objects: Vec<T>,
        metadata: impl Fn(&T) -> &Metadata,
    ) -> Result<Answer, Failure> {
        self.all_or_one(objects, &metadata, |objects| plain(objects, &metadata))
    }

    /// Objects that know how they are printed, perhaps of a Namespace.
    fn stats<T: Listed + Field + Message + Serialize + Printed>(
        &self,
        mut objects: Vec<T>,
    ) -> Result<Answer, Failure> {
        let namespace = &self.path.namespace;
        objects.retain(|object| namespace.is_empty() || object.metadata().namespace == *namespace);
        self.all_or_one(objects, &T::metadata, printed)
    }

    fn all_or_one<T: Listed + Field + Message + Serialize>(
        &self,
        objects: Vec<T>,
        metadata: &dyn Fn(&T) -> &Metadata,
        table: impl FnOnce(&[T]) -> Table,
    ) -> Result<Answer, Failure> {
        let format = negotiate(self.headers, ALL).ok_or_else(Failure::not_acceptable)?;
        if self.path.name.is_empty() {
            return Ok(answer::list(objects, format, table));
        }
        let object = objects.iter().find(|object| metadata(object).name == self.path.name);
        let object = object.ok_or_else(|| Failure::no_such_object(self.path))?;
        Ok(answer::one(object, format, table))
    }

    fn association<T: Listed + Message + Serialize>(&self, none: &T) -> Result<Answer, Failure> {
        let format = negotiate(self.headers, OBJECTS).ok_or_else(Failure::not_acceptable)?;
        Ok(answer::object(StatusCode::OK, none, format))
    }

    /// There is no protobuf of these.
    fn controller_infos(&self) -> Result<Answer, Failure> {
        let info = self.api.cluster.controller_info();
        let offered = [Format::Json, Format::Table];
        let format = negotiate(self.headers, &offered).ok_or_else(Failure::not_acceptable)?;
        if !self.path.name.is_empty() && info.metadata.name != self.path.name {
            return Err(Failure::no_such_object(self.path));
        }
        Ok(match (format, self.path.name.as_str()) {
            (Format::Table, _) => json_object(StatusCode::OK, &plain(&[info], |info| &info.metadata)),
            (_, "") => json_object(StatusCode::OK, &List::of(vec![info])),
            _ => json_object(StatusCode::OK, &info),
        })
    }
}

/// What a request selects by its fields.
pub(super) fn selector(query: &Query) -> Result<Selector, Failure> {
    let text = query.get("fieldSelector").unwrap_or_default();
    Selector::parse(text).map_err(|unknown| {
        let term = unknown.0;
        Failure::bad_request(format!(
            "field selector {term:?} is not supported: use nodeName=NODE or metadata.name=NAME"
        ))
    })
}

fn objects<T>(found: &[Content], object: fn(&Content) -> Option<T>) -> Vec<T> {
    found.iter().filter_map(object).collect()
}

fn policy(content: &Content) -> Option<NetworkPolicy> {
    match content {
        Content::PolicyAdded(policy) => Some(wire::policy(policy)),
        _ => None,
    }
}

fn address_group(content: &Content) -> Option<AddressGroup> {
    match content {
        Content::AddressGroupAdded(group) => Some(wire::address_group(group)),
        _ => None,
    }
}

fn applied_to_group(content: &Content) -> Option<AppliedToGroup> {
    match content {
        Content::AppliedToGroupAdded(group) => Some(wire::applied_to_group(group.name, group.all())),
        _ => None,
    }
}
