//! `get membertoken`: the ServiceAccounts of members, and Secrets with tokens for them.

use anyhow::Result;
use clap::Args;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::ResourceExt;

use super::{nothing, written};
use crate::cluster::Cluster;
use crate::member_token::credential;
use crate::objects::is_made_by_antctl;
use crate::objects::member_token::member;
use crate::output::{Format, table};
use crate::values::WEEK;

/// Which tokens, and how.
#[derive(Debug, Args)]
pub(crate) struct Tokens {
    /// Only this one
    name: Option<String>,

    /// The Namespace of the Common Area
    #[arg(short, long, required_unless_present = "all_namespaces")]
    namespace: Option<String>,

    /// Of all Namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "name"])]
    all_namespaces: bool,

    /// `json` and `yaml` print Secrets for members; a token that expires is made anew, for a week
    #[arg(short, long, value_enum, default_value = "table")]
    output: Format,
}

impl Tokens {
    pub(super) async fn text(&self, cluster: &Cluster) -> Result<String> {
        let mut accounts: Vec<ServiceAccount> = cluster.list(self.namespace.as_deref()).await?;
        accounts.retain(|account| {
            is_made_by_antctl(account)
                && member(account).is_some()
                && self.name.as_ref().is_none_or(|name| account.name_any() == *name)
        });
        if accounts.is_empty() {
            return Ok(nothing("member token", self.namespace.as_deref()));
        }
        if self.output == Format::Table {
            return Ok(people(&accounts));
        }
        let mut secrets = Vec::new();
        for account in &accounts {
            let (namespace, name) = (account.namespace().unwrap_or_default(), account.name_any());
            secrets.push(credential(cluster, &namespace, &name, WEEK).await?.manifest(&name));
        }
        match (&self.name, secrets.as_slice()) {
            (Some(_), [one]) => written(one, &accounts, self.output, people),
            _ => written(&secrets, &accounts, self.output, people),
        }
    }
}

fn people(accounts: &[ServiceAccount]) -> String {
    let row = |account: &ServiceAccount| [account.namespace().unwrap_or_default(), account.name_any()];
    table(["NAMESPACE", "NAME"], accounts.iter().map(row).collect())
}
