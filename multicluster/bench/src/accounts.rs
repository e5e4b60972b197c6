//! What the admin of the leader does for members: a ServiceAccount for each, its rights, its token; and the end of it.

use std::time::Duration;

use antrea_kit::kube_client::{bounded, create};
use antrea_shared_api::multicluster::v1alpha1::{MemberClusterAnnounce, ResourceExport, ResourceImport};
use antrea_shared_api::multicluster::well_known::annotation::CLUSTER_ID;
use anyhow::{Context, Result, ensure};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

/// The Role of members, which comes with the leader's installation.
const MEMBER_ROLE: &str = "antrea-mc-member-cluster-role";
const RBAC: &str = "rbac.authorization.k8s.io";
/// The label of what was made here.
const MADE_HERE: (&str, &str) = ("antrea-mc-bench", "member");
/// Longer than any run.
const TOKEN_SECONDS: i64 = 24 * 3600;
/// Who waits longer for the leader to remove what members exported waits for a fault.
const EMPTY_WITHIN: Duration = Duration::from_secs(1800);
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// ServiceAccounts in the Common Area.
pub(crate) struct Accounts {
    client: Client,
    area: String,
}

impl Accounts {
    pub(crate) fn new(client: Client, area: &str) -> Self {
        Self { client, area: area.to_owned() }
    }

    /// Lets a cluster in as `antctl mc create membertoken` does; returns its token.
    pub(crate) async fn admit(&self, cluster: &str) -> Result<String> {
        let (accounts, bindings) = (self.api::<ServiceAccount>(), self.api::<RoleBinding>());
        create(&accounts, &self.account(cluster), MADE_HERE.0).await?;
        create(&bindings, &self.binding(cluster), MADE_HERE.0).await?;
        let spec = TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..Default::default() };
        let request = TokenRequest { spec, ..Default::default() };
        let answer =
            bounded(accounts.create_token_request(cluster, &PostParams::default(), &request)).await?;
        answer.status.map(|status| status.token).context("the API server gave no token")
    }

    /// Waits until the leader has removed all that members left, then removes the ServiceAccounts and their rights.
    pub(crate) async fn remove(&self) -> Result<()> {
        self.wait_until_none::<MemberClusterAnnounce>().await?;
        self.wait_until_none::<ResourceExport>().await?;
        self.wait_until_none::<ResourceImport>().await?;
        let made_here = ListParams::default().labels(&format!("{}={}", MADE_HERE.0, MADE_HERE.1));
        let parameters = DeleteParams::default();
        self.api::<RoleBinding>().delete_collection(&parameters, &made_here).await?;
        self.api::<ServiceAccount>().delete_collection(&parameters, &made_here).await?;
        Ok(())
    }

    async fn wait_until_none<K>(&self) -> Result<()>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let (api, one, kind) = (self.api::<K>(), ListParams::default().limit(1), K::kind(&()));
        let deadline = Instant::now() + EMPTY_WITHIN;
        while !bounded(api.list(&one)).await?.items.is_empty() {
            ensure!(Instant::now() < deadline, "there are objects of kind {kind} that nobody removes");
            sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.area)
    }

    fn account(&self, cluster: &str) -> ServiceAccount {
        let mut metadata = self.metadata(cluster);
        metadata.annotations = Some([(CLUSTER_ID.to_owned(), cluster.to_owned())].into());
        ServiceAccount { metadata, ..ServiceAccount::default() }
    }

    fn binding(&self, cluster: &str) -> RoleBinding {
        let subject = Subject {
            kind: "ServiceAccount".to_owned(),
            name: cluster.to_owned(),
            namespace: Some(self.area.clone()),
            ..Subject::default()
        };
        let role_ref =
            RoleRef { api_group: RBAC.to_owned(), kind: "Role".to_owned(), name: MEMBER_ROLE.to_owned() };
        RoleBinding { metadata: self.metadata(cluster), role_ref, subjects: Some(vec![subject]) }
    }

    fn metadata(&self, name: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(self.area.clone()),
            labels: Some([(MADE_HERE.0.to_owned(), MADE_HERE.1.to_owned())].into()),
            ..ObjectMeta::default()
        }
    }
}
