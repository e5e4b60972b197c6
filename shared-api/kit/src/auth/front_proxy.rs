//! Whom certificates are for, and whom the API server of the cluster speaks for when it passes a request on (its front
//! proxy). Who vouches for either is in a ConfigMap, which is followed.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use hyper::HeaderMap;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::client_certificate::{ClientAuthorities, ClientCertificates, Role};
use super::identity::User;
use super::subject::Subject;
use crate::watch::{WatchEvent, watch};

/// Where the API server publishes how it authenticates.
const CONFIG_MAP_NAMESPACE: &str = "kube-system";
const CONFIG_MAP: &str = "extension-apiserver-authentication";

/// What everybody is in who is somebody, and what tells that somebody is nobody.
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";

/// What certificates are taken for, as it is now. Copies are the same.
#[derive(Clone, Debug, Default)]
pub struct CertificateTrust(Arc<RwLock<Arc<Trust>>>);

#[derive(Debug, Default)]
struct Trust {
    /// Grows with each change.
    generation: u64,
    front_proxy: Option<FrontProxy>,
    clients: Option<ClientAuthorities>,
}

/// Who may speak for others, and in which headers.
#[derive(Debug)]
struct FrontProxy {
    authorities: ClientAuthorities,
    /// Common names; none means all.
    names: Vec<String>,
    user: Vec<String>,
    uid: Vec<String>,
    group: Vec<String>,
    extra: Vec<String>,
}

impl CertificateTrust {
    /// Takes what a ConfigMap like `extension-apiserver-authentication` says. What cannot be used is trusted for nothing.
    pub fn set(&self, data: &BTreeMap<String, String>) {
        let mut trust = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *trust = Arc::new(Trust { generation: trust.generation + 1, ..Trust::read(data) });
    }

    /// Follows the ConfigMap until `stop`.
    ///
    /// # Errors
    /// Never. The type is that of a component.
    pub async fn follow(self, client: Client, stop: CancellationToken) -> anyhow::Result<()> {
        let (sender, mut events) = mpsc::channel(4);
        let config = watcher::Config::default().fields(&format!("metadata.name={CONFIG_MAP}"));
        let api: Api<ConfigMap> = Api::namespaced(client, CONFIG_MAP_NAMESPACE);
        let watching = watch(api, config, |map| Some(map.data.unwrap_or_default()), sender, stop);
        let learning = async {
            while let Some(event) = events.recv().await {
                let data = match event {
                    WatchEvent::Resynced(all) => all.into_iter().next().unwrap_or_default(),
                    WatchEvent::Applied(data) => data,
                    WatchEvent::Deleted(_) => BTreeMap::new(),
                };
                self.set(&data);
                info!(
                    front_proxy = self.now().front_proxy.is_some(),
                    "Authorities of client certificates read"
                );
            }
        };
        tokio::join!(watching, learning).0
    }

    /// The user who sends a request with these certificates and headers, and the owner of the connection. `None` if no trusted
    /// authority signed the certificates.
    pub fn user(&self, chain: &ClientCertificates, headers: &HeaderMap) -> Option<(User, Owner)> {
        self.now().user(chain, headers)
    }

    fn now(&self) -> Arc<Trust> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Trust {
    fn read(data: &BTreeMap<String, String>) -> Self {
        let authorities = |key: &str| {
            let pem = data.get(key)?;
            ClientAuthorities::read(pem)
                .inspect_err(|error| warn!(key, %error, "ConfigMap {CONFIG_MAP} cannot be used"))
                .ok()
        };
        let list = |key: &str| match data.get(key).map(|text| serde_json::from_str::<Vec<String>>(text)) {
            None => Some(Vec::new()),
            Some(Ok(names)) => Some(names),
            Some(Err(error)) => {
                warn!(key, %error, "ConfigMap {CONFIG_MAP} cannot be used");
                None
            }
        };
        let front_proxy = || {
            Some(FrontProxy {
                authorities: authorities("requestheader-client-ca-file")?,
                names: list("requestheader-allowed-names")?,
                user: list("requestheader-username-headers")?,
                uid: list("requestheader-uid-headers")?,
                group: list("requestheader-group-headers")?,
                extra: list("requestheader-extra-headers-prefix")?,
            })
        };
        Self { generation: 0, front_proxy: front_proxy(), clients: authorities("client-ca-file") }
    }

    fn user(&self, chain: &ClientCertificates, headers: &HeaderMap) -> Option<(User, Owner)> {
        let subject = |role, authorities| chain.subject(role, authorities, self.generation, Instant::now());
        let behind_proxy = self
            .front_proxy
            .as_ref()
            .and_then(|proxy| proxy.user(headers, || subject(Role::FrontProxy, &proxy.authorities)));
        behind_proxy.map(|user| (user, Owner::ApiServer)).or_else(|| {
            let subject = subject(Role::Client, self.clients.as_ref()?)?;
            let mut groups = subject.organizations;
            groups.push(AUTHENTICATED.to_owned());
            let user = User { name: subject.common_name, groups, ..User::default() };
            Some((user, Owner::User)).filter(|(user, _)| !user.name.is_empty())
        })
    }
}

/// Whose a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// An API server's, which brings requests of many users.
    ApiServer,
    /// That of the user who sends the request.
    User,
}

impl FrontProxy {
    /// Whom the proxy speaks for; nobody where it is not the proxy that sends, whom `sender` tells.
    fn user(&self, headers: &HeaderMap, sender: impl FnOnce() -> Option<Subject>) -> Option<User> {
        let name =
            self.user.iter().find_map(|header| text(headers, header)).filter(|name| !name.is_empty())?;
        let proxy = sender()?;
        if !self.names.is_empty() && !self.names.contains(&proxy.common_name) {
            return None;
        }
        let all = |header: &String| headers.get_all(header).iter().filter_map(|value| value.to_str().ok());
        let mut groups: Vec<String> = self.group.iter().flat_map(all).map(str::to_owned).collect();
        // As API servers of Kubernetes do: whom theirs let through without credentials is nobody here, too.
        if name != ANONYMOUS
            && !groups.iter().any(|group| [AUTHENTICATED, UNAUTHENTICATED].contains(&group.as_str()))
        {
            groups.push(AUTHENTICATED.to_owned());
        }
        let uid = self.uid.iter().find_map(|header| text(headers, header)).unwrap_or_default();
        Some(User { name: name.to_owned(), uid: uid.to_owned(), groups, extra: self.extra(headers) })
    }

    /// Headers that begin with a prefix: their rest is the key, percent-encoded.
    fn extra(&self, headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
        let mut extra = BTreeMap::<String, Vec<String>>::new();
        for (header, value) in headers {
            let key = self
                .extra
                .iter()
                .find_map(|prefix| header.as_str().strip_prefix(prefix.to_ascii_lowercase().as_str()));
            if let (Some(key), Ok(value)) = (key, value.to_str()) {
                extra.entry(percent_decoded(key)).or_default().push(value.to_owned());
            }
        }
        extra
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// `%2f` is a slash (RFC 3986 §2.1). A percent sign without two digits stays.
fn percent_decoded(text: &str) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let byte = after
            .first_chunk::<2>()
            .filter(|digits| *first == b'%' && digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        decoded.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
