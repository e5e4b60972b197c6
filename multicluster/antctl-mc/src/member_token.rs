//! `create membertoken` and `delete membertoken`, and the credential that they are about.

use std::io::Write;
use std::time::Duration;

use antrea_kit::kube_client::{Effect, bounded};
use antrea_shared_api::multicluster::well_known::annotation::{GATEWAYS, NETWORKS, TOKEN_LIFETIME};
use antrea_shared_api::multicluster::well_known::announce_name;
use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt;
use kube::api::PostParams;
use serde_json::json;

use crate::cli::{CreateMemberToken, DeleteMemberToken};
use crate::cluster::{Cluster, Created, Kind, plain};
use crate::end_membership;
use crate::objects::is_made_by_antctl;
use crate::objects::member_token::{MemberToken, is_new, member, renewal_name, token_request};
use crate::objects::secret::Credential;
use crate::output;
use crate::values::Lifetime;
use crate::wait;

/// Kubernetes puts the certificates of the API server into each Namespace.
const ROOT_CA: &str = "kube-root-ca.crt";
/// How long Kubernetes may take to write a token into a Secret.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) async fn create(
    cluster: &Cluster,
    options: &CreateMemberToken,
    out: &mut dyn Write,
) -> Result<()> {
    let mut created = Created::default();
    if let Err(error) = create_all(cluster, options, &mut created, out).await {
        writeln!(out, "Failed to create the member token. Deleting the created resources")?;
        return Err(created.undo(cluster, error).await);
    }
    writeln!(
        out,
        "You can now run \"antctl mc join\" command with the token in a member cluster to join the ClusterSet"
    )?;
    Ok(())
}

async fn create_all(
    cluster: &Cluster,
    options: &CreateMemberToken,
    created: &mut Created,
    out: &mut dyn Write,
) -> Result<()> {
    let CreateMemberToken { name, cluster_id, namespace, networks, gateways, output_file, lifetime } =
        options;
    let (networks, gateways) = (networks.as_deref(), gateways.as_deref());
    let token_lifetime = lifetime.more_than_usual();
    let token = MemberToken { name, namespace, cluster_id, networks, gateways, token_lifetime };
    let accounts: Vec<ServiceAccount> = cluster.list(Some(namespace)).await?;
    if is_new(token, &accounts)? {
        create_one(cluster, &token.service_account(), created, out).await?;
    } else {
        annotate(cluster, token, (NETWORKS, "bound to networks", networks), out).await?;
        annotate(cluster, token, (GATEWAYS, "bound to Gateways", gateways), out).await?;
        let lifetime = token.lifetime_annotation();
        annotate(cluster, token, (TOKEN_LIFETIME, "given tokens for", lifetime.as_deref()), out).await?;
    }
    create_one(cluster, &token.role_binding(), created, out).await?;
    match lifetime {
        Lifetime::Forever => create_one(cluster, &token.secret(), created, out).await?,
        Lifetime::Limited(_) => {
            create_one(cluster, &token.renewal_role(), created, out).await?;
            create_one(cluster, &token.renewal_binding(), created, out).await?;
        }
    }
    if let Some(path) = output_file {
        let credential = credential(cluster, namespace, name, *lifetime).await?;
        output::save(path, &output::yaml(&credential.manifest(name))?)?;
        writeln!(out, "Saved member token Secret to file: {}", path.display())?;
    }
    Ok(())
}

/// Writes what is named for a member that is there already, in the place of what it had.
async fn annotate(
    cluster: &Cluster,
    token: MemberToken<'_>,
    (annotation, what, value): (&str, &str, Option<&str>),
    out: &mut dyn Write,
) -> Result<()> {
    let Some(value) = value else { return Ok(()) };
    let annotations = json!({ "metadata": { "annotations": { annotation: value } } });
    cluster.patch::<ServiceAccount>(token.namespace, token.name, &annotations).await?;
    writeln!(out, "ServiceAccount {:?} is {what} {value}", token.name)?;
    Ok(())
}

async fn create_one<K: Kind>(
    cluster: &Cluster,
    object: &K,
    created: &mut Created,
    out: &mut dyn Write,
) -> Result<()> {
    let (kind, name) = (K::kind(&()), object.name_any());
    let there: Option<K> = cluster.find(&object.namespace().unwrap_or_default(), &name).await?;
    match there {
        Some(there) if is_made_by_antctl(&there) => writeln!(out, "{kind} {name:?} already exists")?,
        Some(_) => bail!("{kind} {name:?} is there already, and antctl did not make it: choose another name"),
        None => {
            created.create(cluster, object).await?;
            writeln!(out, "{kind} {name:?} created")?;
        }
    }
    Ok(())
}

/// The credential of a member: the token of its Secret, else a new one of this lifetime.
pub(crate) async fn credential(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    lifetime: Lifetime,
) -> Result<Credential> {
    let has_secret = cluster.find::<Secret>(namespace, name).await?.is_some();
    match lifetime {
        Lifetime::Limited(lifetime) if !has_secret => request(cluster, namespace, name, lifetime).await,
        _ => from_secret(cluster, namespace, name).await,
    }
}

async fn from_secret(cluster: &Cluster, namespace: &str, name: &str) -> Result<Credential> {
    let credential = wait::until(TOKEN_TIMEOUT, async || {
        let secret: Option<Secret> = cluster.find(namespace, name).await?;
        Ok(secret.as_ref().and_then(Credential::of))
    });
    credential.await?.with_context(|| {
        format!(
            "Secret {namespace}/{name} has no token after {} s: is the controller manager of the cluster at work?",
            TOKEN_TIMEOUT.as_secs()
        )
    })
}

async fn request(cluster: &Cluster, namespace: &str, name: &str, lifetime: Duration) -> Result<Credential> {
    let accounts = cluster.api::<ServiceAccount>(namespace);
    let parameters = PostParams::default();
    let request = token_request(lifetime);
    let answer = bounded(accounts.create_token_request(name, &parameters, &request))
        .await
        .map_err(plain)
        .with_context(|| format!("cannot get a token of ServiceAccount {namespace}/{name}"))?;
    let token = answer.status.map(|status| status.token).context("the API server gave no token")?;
    let roots: Option<ConfigMap> = cluster.find(namespace, ROOT_CA).await?;
    let ca = roots.and_then(|roots| roots.data).and_then(|mut data| data.remove("ca.crt")).with_context(|| {
        format!("ConfigMap {namespace}/{ROOT_CA}, which vouches for the API server, is missing: Kubernetes creates it")
    })?;
    Ok(Credential { ca: ca.into_bytes(), namespace: namespace.to_owned(), token: token.into_bytes() })
}

pub(crate) async fn delete(
    cluster: &Cluster,
    options: &DeleteMemberToken,
    out: &mut dyn Write,
) -> Result<()> {
    let DeleteMemberToken { name, namespace, end_membership } = options;
    let account: Option<ServiceAccount> = cluster.find(namespace, name).await?;
    let renewal = renewal_name(name);
    let found = [
        delete_one::<Secret>(cluster, namespace, name, out).await?,
        delete_one::<RoleBinding>(cluster, namespace, &renewal, out).await?,
        delete_one::<Role>(cluster, namespace, &renewal, out).await?,
        delete_one::<RoleBinding>(cluster, namespace, name, out).await?,
        delete_one::<ServiceAccount>(cluster, namespace, name, out).await?,
    ];
    ensure!(
        found.contains(&Found::Yes),
        "there is no member token {name:?} in Namespace {namespace}{}",
        if *end_membership { membership_without_a_token(namespace) } else { String::new() }
    );
    match account.as_ref().and_then(member) {
        Some(id) if *end_membership => end_membership::end(cluster, namespace, id, out).await,
        Some(id) => end_membership::tell(cluster, namespace, id, out).await,
        None => Ok(()),
    }
}

/// What is left to do when the token went before the membership did.
fn membership_without_a_token(namespace: &str) -> String {
    let announce = announce_name("ID");
    format!(
        "; the membership of a cluster without a token ends with \"kubectl -n {namespace} delete memberclusterannounce \
         {announce}\""
    )
}

/// Whether there was an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Yes,
    No,
}

/// Deletes an object that antctl made; others stay.
async fn delete_one<K: Kind>(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    out: &mut dyn Write,
) -> Result<Found> {
    let kind = K::kind(&());
    let Some(object) = cluster.find::<K>(namespace, name).await? else { return Ok(Found::No) };
    if !is_made_by_antctl(&object) {
        writeln!(out, "{kind} {name:?} is kept: antctl did not make it")?;
    } else if cluster.delete::<K>(namespace, name).await? == Effect::Changed {
        writeln!(out, "{kind} {name:?} deleted")?;
    }
    Ok(Found::Yes)
}
