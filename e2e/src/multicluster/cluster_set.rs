//! A ClusterSet of all clusters of a lab, made as docs/multicluster/quick-start.md says: c1 is leader and member, the
//! first Node of each cluster its Gateway.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::antctl::Antctl;
use crate::command::Run as _;
use crate::install::{NAMESPACE, Product};
use crate::kubectl::Kubectl;
use crate::lab::Lab;
use crate::names::{ClusterId, NodeId};
use crate::progress::all_at_once;
use crate::{state, wait};

/// The ClusterSet's ID.
pub const NAME: &str = "test-clusterset";
/// The Namespace of the Common Area, in c1.
pub const COMMON_AREA: &str = "antrea-multicluster";
/// The cluster with the Common Area.
pub const LEADER: ClusterId = ClusterId(1);
/// The Secret with a member's token: the one that its controller may read.
pub const TOKEN_SECRET: &str = "antrea-mc-leader-token";
/// The annotation of Nodes that may be Gateways.
pub const GATEWAY: &str = "multicluster.antrea.io/gateway";

/// For a Gateway to be known to all other clusters.
const PATIENCE: Duration = Duration::from_secs(60);

/// A ClusterSet with its Common Area in c1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterSet {
    /// Its ID.
    pub id: &'static str,
    /// The Namespace of the Common Area.
    pub area: &'static str,
}

/// The one that [`form`] makes.
const FIRST: ClusterSet = ClusterSet { id: NAME, area: COMMON_AREA };

/// One cluster of the set.
#[derive(Debug, Clone)]
pub struct Member {
    /// The set.
    set: ClusterSet,
    /// Its place in the lab.
    pub cluster: ClusterId,
    /// Its administrator's kubectl.
    pub kubectl: Kubectl,
    /// Its administrator's antctl.
    pub antctl: Antctl,
    folder: PathBuf,
}

/// What the installation of each cluster is told: c1 is leader and member, all others are members.
pub fn with_modes(mut product: Product, clusters: u8) -> Product {
    for number in 1..=clusters {
        let id = ClusterId(number);
        let mode = if id == LEADER { "mode=both" } else { "mode=member" };
        product.multicluster = product.multicluster.with(id, mode);
    }
    product
}

/// The ID of a cluster in the ClusterSet: c1 is `cluster-a`.
pub fn cluster_id(cluster: ClusterId) -> String {
    format!("cluster-{}", char::from(b'a' + (cluster.0 - 1) % 26))
}

/// Every cluster of a lab.
///
/// # Errors
/// When the lab has no kubectl.
pub fn members(lab: &Lab, product: &Product) -> Result<Vec<Member>> {
    let member = |cluster: ClusterId| {
        let kubectl = lab.kubectl(cluster)?;
        let antctl = Antctl::new(&product.multicluster.programs, &kubectl);
        Ok(Member { set: FIRST, cluster, kubectl, antctl, folder: state::folder(&lab.plan().name) })
    };
    lab.plan().clusters.iter().map(|cluster| member(cluster.id)).collect()
}

/// Makes the ClusterSet, lets every cluster join, chooses Gateways and waits until each cluster knows those of all others.
///
/// # Errors
/// What antctl says, or what is not there in time.
pub fn form(members: &[Member]) -> Result<()> {
    let leader = leader(members)?;
    leader.init()?;
    members.iter().try_for_each(|member| leader.create_token(member).map(drop))?;
    all_at_once(members, |member| {
        member.join()?;
        member.choose_gateway(member.first_node())
    })?;
    members.iter().try_for_each(|member| member.wait_for_gateways(members.len() - 1))
}

/// The one with the Common Area.
///
/// # Errors
/// When there is none.
pub fn leader(members: &[Member]) -> Result<&Member> {
    members.iter().find(|member| member.cluster == LEADER).context("the lab has no c1")
}

impl Member {
    /// Its ID in the ClusterSet.
    pub fn id(&self) -> String {
        cluster_id(self.cluster)
    }

    /// The same cluster as a member of another ClusterSet.
    #[must_use]
    pub fn in_set(&self, set: ClusterSet) -> Self {
        Self { set, ..self.clone() }
    }

    /// The Node that is its Gateway at first.
    pub fn first_node(&self) -> NodeId {
        NodeId { cluster: self.cluster, number: 1 }
    }

    /// The name of its ServiceAccount in the leader.
    pub fn token_name(&self) -> String {
        format!("{}-token", self.id())
    }

    /// The name of its MemberClusterAnnounce.
    pub fn announce_name(&self) -> String {
        format!("member-announce-from-{}", self.id())
    }

    /// As the leader: makes the ClusterSet.
    ///
    /// # Errors
    /// What antctl says.
    pub fn init(&self) -> Result<()> {
        let (ClusterSet { id, area }, config) = (self.set, self.join_config()?);
        let init = ["init", "--clusterset", id, "--clusterid", &self.id(), "-n", area, "-j", &config];
        self.antctl.text(&init).map(drop)
    }

    /// As the leader: makes the credentials of another, or new ones, and returns the file they are in.
    ///
    /// # Errors
    /// What antctl says.
    pub fn create_token(&self, of: &Self) -> Result<String> {
        let (name, id, file) = (of.token_name(), of.id(), of.token_file()?);
        self.antctl.text(&[
            "create",
            "membertoken",
            &name,
            "--cluster-id",
            &id,
            "-n",
            of.set.area,
            "-o",
            &file,
        ])?;
        Ok(file)
    }

    /// Joins the ClusterSet with the credentials in its file; said once more, it takes new ones from there.
    ///
    /// # Errors
    /// What antctl says.
    pub fn join(&self) -> Result<()> {
        self.joining()?.run()
    }

    /// The same, without waiting for the leader.
    ///
    /// # Errors
    /// When antctl cannot start.
    pub fn begin_to_join(&self) -> Result<Child> {
        self.joining()?.stdin(Stdio::null()).stdout(Stdio::null()).spawn().context("cannot start antctl")
    }

    fn joining(&self) -> Result<Command> {
        let (config, token) = (self.join_config()?, self.token_file()?);
        let join = ["join", "-f", &config, "--clusterid", &self.id(), "--token-secret-file", &token];
        self.antctl.command(&join)
    }

    /// Leaves the ClusterSet, and waits until the leader knows.
    ///
    /// # Errors
    /// What antctl says.
    pub fn leave(&self) -> Result<()> {
        self.antctl.text(&["leave", "--clusterset", self.set.id]).map(drop)
    }

    /// Marks a Node as a possible Gateway.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub fn choose_gateway(&self, node: NodeId) -> Result<()> {
        self.annotate(node, &format!("{GATEWAY}=true"))
    }

    /// Takes that mark away.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub fn dismiss_gateway(&self, node: NodeId) -> Result<()> {
        self.annotate(node, &format!("{GATEWAY}-"))
    }

    fn annotate(&self, node: NodeId, annotation: &str) -> Result<()> {
        self.kubectl.text(&["annotate", "--overwrite", "node", &node.to_string(), annotation]).map(drop)
    }

    /// Its Gateway objects.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub fn gateways(&self) -> Result<Vec<Value>> {
        list(&self.kubectl, "gateways.multicluster.crd.antrea.io")
    }

    /// Waits until it has one Gateway and knows those of so many other clusters.
    ///
    /// # Errors
    /// When it is not so in time.
    pub fn wait_for_gateways(&self, others: usize) -> Result<()> {
        wait::until(PATIENCE, &format!("Gateways of all clusters in {}", self.cluster), || {
            let (own, known) = (self.gateways()?, list(&self.kubectl, "clusterinfoimports")?);
            ensure!(own.len() == 1 && known.len() == others, "Gateways: {own:?}\nother clusters: {known:?}");
            Ok(true)
        })
    }

    /// What members are told of the leader.
    fn join_config(&self) -> Result<String> {
        self.file("join.yaml")
    }

    fn token_file(&self) -> Result<String> {
        self.file(&format!("{}.yaml", self.token_name()))
    }

    /// A file that belongs to the ClusterSet.
    fn file(&self, name: &str) -> Result<String> {
        let path = self.folder.join(format!("{}-{name}", self.set.id));
        path.to_str().map(str::to_owned).with_context(|| format!("{} is no text", path.display()))
    }
}

/// The objects of a kind in the Namespace of the controllers.
fn list(kubectl: &Kubectl, kind: &str) -> Result<Vec<Value>> {
    let found = kubectl.json(&["get", "-n", NAMESPACE, kind])?;
    Ok(found["items"].as_array().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cluster_leads() {
        let product = with_modes(Product::default(), 3);
        let told: Vec<String> =
            product.multicluster.settings.iter().map(|one| format!("{} {}", one.cluster, one.text)).collect();
        assert_eq!(told, ["c1 mode=both", "c2 mode=member", "c3 mode=member"]);
        assert_eq!(["cluster-a", "cluster-c"], [cluster_id(LEADER), cluster_id(ClusterId(3))]);
    }
}
