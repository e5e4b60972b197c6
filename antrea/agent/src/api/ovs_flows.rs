//! `/ovsflows`: flows and groups of the bridge as `ovs-ofctl` prints them, all or some.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use antrea_kit::query::Query;
use antrea_openflow::message::{FlowEntry, FlowFilter};
use antrea_openflow::{GroupId, Names, TableId};
use antrea_ovs::openflow::{Channel, OpenFlowError};
use antrea_types::{OfPort, PodRef};
use serde_json::{Value, json};

use super::Sources;
use super::refusal::Refusal;
use crate::pods;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Selection {
    TableNames,
    AllFlows,
    Tables(Vec<TableId>),
    AllGroups,
    Groups(BTreeSet<GroupId>),
    Pod(PodRef),
    Service { namespace: String, name: String },
}

pub(super) async fn answer(sources: &Sources, query: &Query) -> Result<Value, Refusal> {
    let observer = &sources.observer;
    let selection = select(query, &observer.tables)?;
    let lines = match selection {
        Selection::TableNames => table_names(&observer.tables),
        Selection::Pod(ref pod) => {
            let stored = observer.store.by_pod(pod);
            let stored = stored.first();
            let none = || Refusal::NotFound(format!("Pod {pod} has no interface on this Node"));
            set_lines(sources, &pods::key(&stored.ok_or_else(none)?.name)).await?
        }
        Selection::Service { ref namespace, ref name } => {
            let lines = set_lines(sources, &format!("service/{namespace}/{name}")).await?;
            if lines.is_empty() {
                return Err(Refusal::NotFound(format!(
                    "Service {namespace}/{name} has no flows on this Node"
                )));
            }
            lines
        }
        other => Bridge::connect(sources).await?.lines(&other).await.map_err(|error| away(&error))?,
    };
    Ok(lines.into_iter().map(|line| json!({"flow": line})).collect())
}

/// Understands the parameters as upstream does.
fn select(query: &Query, tables: &[(TableId, String)]) -> Result<Selection, Refusal> {
    let bad = |message: &str| Err(Refusal::BadRequest(message.to_owned()));
    let namespace = query.get("namespace");
    if query.has("table-names-only") {
        return Ok(Selection::TableNames);
    }
    if query.get("networkpolicy").is_some() {
        return bad("flows of a NetworkPolicy are not available yet");
    }
    match (query.get("pod"), query.get("service"), query.get("table"), query.get("groups"), namespace) {
        (Some(name), _, _, _, Some(namespace)) => {
            Ok(Selection::Pod(PodRef { namespace: namespace.to_owned(), name: name.to_owned() }))
        }
        (None, Some(name), _, _, Some(namespace)) => {
            Ok(Selection::Service { namespace: namespace.to_owned(), name: name.to_owned() })
        }
        (Some(_), _, _, _, None) | (None, Some(_), _, _, None) => bad("namespace must be provided"),
        (None, None, Some(list), _, _) => parse_tables(list, tables).map(Selection::Tables),
        (None, None, None, Some(list), _) => parse_groups(list),
        (None, None, None, None, None) => Ok(Selection::AllFlows),
        (None, None, None, None, Some(_)) => bad("unsupported parameter combination"),
    }
}

/// Names or numbers of tables that the bridge has.
fn parse_tables(list: &str, tables: &[(TableId, String)]) -> Result<Vec<TableId>, Refusal> {
    let find = |wanted: &str| {
        let number = wanted.parse().ok().map(TableId);
        let table = tables.iter().find(|(id, name)| name == wanted || Some(*id) == number);
        let none =
            || Refusal::BadRequest(format!("invalid table name or number: there is no table {wanted:?}"));
        table.map(|(id, _)| *id).ok_or_else(none)
    };
    list.split(',').map(|wanted| find(wanted.trim())).collect()
}

fn parse_groups(list: &str) -> Result<Selection, Refusal> {
    if list.eq_ignore_ascii_case("all") {
        return Ok(Selection::AllGroups);
    }
    let ids: Result<BTreeSet<u32>, _> = list.split(',').map(|id| id.trim().parse()).collect();
    match ids {
        Ok(ids) => Ok(Selection::Groups(ids.into_iter().map(GroupId).collect())),
        Err(_) => {
            Err(Refusal::BadRequest(format!("invalid group ID: numbers or \"all\" are wanted, not {list:?}")))
        }
    }
}

fn table_names(tables: &[(TableId, String)]) -> Vec<String> {
    tables.iter().map(|(_, name)| name.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The flows and groups of a set, as the switch has them.
async fn set_lines(sources: &Sources, key: &str) -> Result<Vec<String>, Refusal> {
    let set = sources.observer.switch.get(key).await;
    let bridge = Bridge::connect(sources).await?;
    let tables: BTreeSet<TableId> = set.flows.iter().map(|flow| flow.table).collect();
    let wanted: BTreeSet<_> = set.flows.iter().map(antrea_openflow::Flow::key).collect();
    let mut entries = bridge.flows(tables).await.map_err(|error| away(&error))?;
    entries.retain(|entry| wanted.contains(&entry.flow.key()));
    let mut lines = bridge.print(entries);
    if !set.groups.is_empty() {
        let groups = Selection::Groups(set.groups.iter().map(|group| group.id).collect());
        lines.extend(bridge.lines(&groups).await.map_err(|error| away(&error))?);
    }
    Ok(lines)
}

fn away(error: &OpenFlowError) -> Refusal {
    Refusal::Unavailable(format!("Open vSwitch does not answer: {error}"))
}

/// The switch, and the names that it gives its tables and ports.
struct Bridge {
    channel: Channel,
    tables: BTreeMap<TableId, String>,
    ports: BTreeMap<OfPort, String>,
}

impl Names for Bridge {
    fn table(&self, table: TableId) -> Option<&str> {
        self.tables.get(&table).map(String::as_str)
    }

    fn port(&self, port: OfPort) -> Option<&str> {
        self.ports.get(&port).map(String::as_str)
    }
}

impl Bridge {
    async fn connect(sources: &Sources) -> Result<Self, Refusal> {
        let channel = sources.observer.switch.connection().current().map_err(|error| away(&error))?;
        let ports = channel.port_desc().await.map_err(|error| away(&error))?;
        Ok(Self {
            channel,
            tables: sources.observer.tables.iter().cloned().collect(),
            ports: ports.into_iter().map(|port| (port.number, port.name)).collect(),
        })
    }

    async fn lines(&self, selection: &Selection) -> Result<Vec<String>, OpenFlowError> {
        let flows = match selection {
            Selection::Groups(wanted) => return self.groups(|id| wanted.contains(&id)).await,
            Selection::AllGroups => return self.groups(|_| true).await,
            Selection::Tables(tables) => self.flows(tables.iter().copied()).await?,
            _ => self.flows([TableId::ALL]).await?,
        };
        Ok(self.print(flows))
    }

    async fn flows(
        &self,
        tables: impl IntoIterator<Item = TableId>,
    ) -> Result<Vec<FlowEntry>, OpenFlowError> {
        let mut flows = Vec::new();
        for table in tables {
            flows.extend(self.channel.dump_flow_entries(FlowFilter::table(table)).await?);
        }
        Ok(flows)
    }

    async fn groups(&self, wanted: impl Fn(GroupId) -> bool) -> Result<Vec<String>, OpenFlowError> {
        let mut groups = self.channel.dump_groups().await?;
        groups.retain(|group| wanted(group.id));
        groups.sort_by_key(|group| group.id);
        Ok(groups.iter().map(|group| group.display(self).to_string()).collect())
    }

    /// In the order in which packets meet them; the switch has them in none.
    fn print(&self, mut flows: Vec<FlowEntry>) -> Vec<String> {
        flows.sort_by(|a, b| {
            let order = |entry: &FlowEntry| (entry.flow.table, Reverse(entry.flow.priority));
            order(a).cmp(&order(b)).then_with(|| a.flow.matching.cmp(&b.flow.matching))
        });
        flows.iter().map(|flow| flow.display(self).to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str) -> Result<Selection, String> {
        let tables = [(TableId(0), "PipelineRootClassifier".to_owned()), (TableId(9), "Output".to_owned())];
        select(&Query::parse(query), &tables).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn parameters_mean_what_they_mean_upstream() {
        assert_eq!(check(""), Ok(Selection::AllFlows));
        assert_eq!(check("table=Output,%200"), Ok(Selection::Tables(vec![TableId(9), TableId(0)])));
        assert_eq!(check("groups=ALL"), Ok(Selection::AllGroups));
        assert_eq!(check("groups=3,%201"), Ok(Selection::Groups([GroupId(1), GroupId(3)].into())));
        assert_eq!(check("table-names-only="), Ok(Selection::TableNames));
        let pod = PodRef { namespace: "n".into(), name: "p".into() };
        assert_eq!(check("pod=p&namespace=n&table=Output"), Ok(Selection::Pod(pod)));
        let service = Selection::Service { namespace: "n".into(), name: "s".into() };
        assert_eq!(check("service=s&namespace=n"), Ok(service));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (query, error) in [
            ("pod=p", "namespace must be provided"),
            ("service=s", "namespace must be provided"),
            ("namespace=n", "unsupported parameter combination"),
            ("networkpolicy=p&namespace=n", "flows of a NetworkPolicy are not available yet"),
            ("table=5", "invalid table name or number: there is no table \"5\""),
            ("groups=1,x", "invalid group ID: numbers or \"all\" are wanted, not \"1,x\""),
        ] {
            assert_eq!(check(query), Err(error.to_owned()), "{query}");
        }
    }
}
