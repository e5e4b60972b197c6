//! All members together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use antrea_shared_api::multicluster::v1alpha1::ResourceImport;
use anyhow::{Context, Result};
use futures::future::{try_join, try_join_all};
use futures::stream::{StreamExt, TryStreamExt, iter};
use kube::config::{AuthInfo, Config};
use kube::{Client, Resource};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::accounts::Accounts;
use crate::member::Member;
use crate::objects::{ClusterSet, Export, cluster, exports};
use crate::reader::Reading;
use crate::tally::{Sight, Tally};
use crate::troubles::Troubles;

/// How many members are admitted, join or leave at a time.
const AT_ONCE: usize = 8;
/// Who waits longer until all members know all imports waits for a fault.
const KNOWN_WITHIN: Duration = Duration::from_secs(1800);

/// How many there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) members: u32,
    /// Of each of them.
    pub(crate) services: u32,
}

/// Members that have joined.
pub(crate) struct Fleet {
    accounts: Accounts,
    members: Vec<(Member, Vec<Export>)>,
    pub(crate) troubles: Arc<Troubles>,
}

impl Fleet {
    /// Lets all members in, and waits until they have announced themselves and watch. Beside them: what they are told.
    pub(crate) async fn join(
        admin: Config,
        set: ClusterSet,
        size: Size,
    ) -> Result<(Self, mpsc::Receiver<Sight>)> {
        let accounts = Accounts::new(Client::try_from(admin.clone())?, &set.area);
        let all = (0..size.members).map(|member| exports(&set, member, size.services));
        let all: Vec<Vec<Export>> = all.collect::<Result<_>>()?;
        let (sender, sights) = mpsc::channel(1024);
        let troubles = Arc::new(Troubles::default());
        let reading = Reading {
            path: ResourceImport::url_path(&(), Some(&set.area)),
            imports: Arc::new(numbers(&all)),
            sights: sender,
            troubles: Arc::clone(&troubles),
        };
        let (of, way, told) = (&accounts, &admin, &reading);
        let joining = (0..).zip(all).map(|(number, exports)| {
            let set = set.clone();
            async move {
                let id = cluster(number);
                let member = Member::join(client(way, of.admit(&id).await?)?, set, number, told.clone());
                anyhow::Ok((member.await.with_context(|| format!("{id} did not join"))?, exports))
            }
        });
        let members = iter(joining).buffered(AT_ONCE).try_collect::<Vec<_>>().await?;
        Ok((Self { accounts, members, troubles }, sights))
    }

    /// All export at once; waits until every member has been told of every import. Beside that: when each export was
    /// asked for.
    pub(crate) async fn export(&self, mut sights: mpsc::Receiver<Sight>) -> Result<(Tally, Vec<Instant>)> {
        let imports = self.members.iter().map(|(_, exports)| exports.len()).sum();
        let mut tally = Tally::new(imports, u32::try_from(self.members.len())?);
        let sent = self.members.iter().map(|(member, exports)| member.export(exports, &self.troubles));
        let told = async {
            while tally.missing() > 0 {
                tally.learn(sights.recv().await.context("no member watches any more")?);
            }
            anyhow::Ok(())
        };
        let known = timeout(KNOWN_WITHIN, async { try_join(try_join_all(sent), told).await }).await;
        let (asked, ()) =
            known.with_context(|| format!("members were not told of all {imports} imports"))??;
        Ok((tally, asked.concat()))
    }

    /// All leave, and nothing of them stays.
    pub(crate) async fn leave(&self) -> Result<()> {
        let leaving = iter(&self.members).map(|(member, _)| member.leave());
        leaving.buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await?;
        self.accounts.remove().await
    }
}

/// The number of each import by name: in the order of members, and in that of the exports of each.
fn numbers(exports: &[Vec<Export>]) -> BTreeMap<String, usize> {
    let names = exports.iter().flatten().map(|export| export.import.clone());
    names.zip(0..).collect()
}

/// The way of a member to the API server: that of the admin, with its own token.
fn client(admin: &Config, token: String) -> Result<Client> {
    let mut config = admin.clone();
    config.auth_info = AuthInfo { token: Some(token.into()), ..AuthInfo::default() };
    Ok(Client::try_from(config)?)
}
