//! Whom certificates are taken for: the front proxy, which speaks for others, and users; and which a server takes at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use antrea_kit::api;
use antrea_kit::auth::{CertificateTrust, ClientCertificates, Owner, User};
use antrea_kit::health::Checks;
use antrea_kit::server::Limits;
use antrea_types::MinimumTls;
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::server::{Running, certificate};

/// An authority that vouches for clients.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        Self::named("an authority")
    }

    fn named(name: &str) -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    fn vouch_for(
        &self,
        name: &str,
        organization: &str,
        usage: ExtendedKeyUsagePurpose,
    ) -> CertificateDer<'static> {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.distinguished_name.push(DnType::OrganizationName, organization);
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.extended_key_usages = vec![usage];
        parameters.signed_by(&KeyPair::generate().unwrap(), &self.0).unwrap().der().clone()
    }

    fn client(&self, name: &str) -> CertificateDer<'static> {
        self.vouch_for(name, "team", ExtendedKeyUsagePurpose::ClientAuth)
    }
}

/// What a client shows, its own certificate first.
fn shown(chain: &[CertificateDer<'static>]) -> ClientCertificates {
    ClientCertificates::new(chain)
}

/// What the API server of a cluster publishes.
fn published(proxy: &Authority, clients: &Authority) -> BTreeMap<String, String> {
    let data = [
        ("client-ca-file", clients.pem()),
        ("requestheader-client-ca-file", proxy.pem()),
        ("requestheader-allowed-names", r#"["front-proxy-client"]"#.to_owned()),
        ("requestheader-username-headers", r#"["X-Remote-User"]"#.to_owned()),
        ("requestheader-group-headers", r#"["X-Remote-Group"]"#.to_owned()),
        ("requestheader-extra-headers-prefix", r#"["X-Remote-Extra-"]"#.to_owned()),
    ];
    data.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn headers(text: &str) -> HeaderMap {
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap())
    };
    text.lines().map(header).collect()
}

fn printed(user: Option<(User, Owner)>) -> String {
    user.map_or("nobody".to_owned(), |(user, owner)| {
        let by = if owner == Owner::ApiServer { " by an API server" } else { "" };
        format!("{} {:?} {:?}{by}", user.name, user.groups, user.extra)
    })
}

const ALICE: &str = "x-remote-user: alice\nx-remote-group: dev\nx-remote-group: ops\nx-remote-extra-a%2fb: c\nx-remote-extra-a%+fb: d";

#[test]
fn the_front_proxy_speaks_for_others() {
    let (proxy, clients) = (Authority::new(), Authority::new());
    let trust = CertificateTrust::default();
    let certificate = shown(&[proxy.client("front-proxy-client")]);
    assert_eq!(printed(trust.user(&certificate, &headers(ALICE))), "nobody", "before anything is published");
    trust.set(&published(&proxy, &clients));
    assert_eq!(
        printed(trust.user(&certificate, &headers(ALICE))),
        r#"alice ["dev", "ops", "system:authenticated"] {"a%+fb": ["d"], "a/b": ["c"]} by an API server"#
    );
    assert_eq!(printed(trust.user(&certificate, &HeaderMap::new())), "nobody", "it does not say for whom");
    trust.set(&published(&clients, &clients));
    assert_eq!(printed(trust.user(&certificate, &headers(ALICE))), "nobody", "the authority was replaced");
}

#[test]
fn whoever_the_front_proxy_let_through_without_credentials_is_not_authenticated() {
    let (proxy, clients) = (Authority::new(), Authority::new());
    let trust = CertificateTrust::default();
    trust.set(&published(&proxy, &clients));
    let check = |text: &str| {
        let user = printed(trust.user(&shown(&[proxy.client("front-proxy-client")]), &headers(text)));
        user.strip_suffix(" by an API server").unwrap().to_owned()
    };
    let anonymous = r#"system:anonymous ["system:unauthenticated"] {}"#;
    assert_eq!(check("x-remote-user: system:anonymous\nx-remote-group: system:unauthenticated"), anonymous);
    assert_eq!(check("x-remote-user: system:anonymous"), "system:anonymous [] {}");
    assert_eq!(
        check("x-remote-user: a\nx-remote-group: system:unauthenticated"),
        anonymous.replace("system:anonymous", "a")
    );
    assert_eq!(check("x-remote-user: a"), r#"a ["system:authenticated"] {}"#);
}

#[test]
fn nobody_else_speaks_for_others() {
    let (proxy, clients, stranger) = (Authority::new(), Authority::new(), Authority::new());
    let trust = CertificateTrust::default();
    trust.set(&published(&proxy, &clients));
    let server = proxy.vouch_for("front-proxy-client", "", ExtendedKeyUsagePurpose::ServerAuth);
    for certificate in [proxy.client("mallory"), stranger.client("front-proxy-client"), server] {
        assert_eq!(printed(trust.user(&shown(&[certificate]), &headers(ALICE))), "nobody");
    }
    assert_eq!(printed(trust.user(&shown(&[]), &headers(ALICE))), "nobody");
    let bob = shown(&[clients.client("bob")]);
    assert_eq!(printed(trust.user(&bob, &headers(ALICE))), r#"bob ["team", "system:authenticated"] {}"#);
}

#[test]
fn what_cannot_be_read_is_trusted_for_nothing() {
    let (proxy, clients) = (Authority::new(), Authority::new());
    let certificate = shown(&[proxy.client("front-proxy-client")]);
    for (key, value) in [
        ("requestheader-client-ca-file", "none"),
        ("requestheader-allowed-names", "front-proxy-client"),
        ("requestheader-username-headers", ""),
    ] {
        let trust = CertificateTrust::default();
        let mut data = published(&proxy, &clients);
        data.insert(key.to_owned(), value.to_owned());
        trust.set(&data);
        assert_eq!(printed(trust.user(&certificate, &headers(ALICE))), "nobody", "{key}");
        assert_ne!(
            printed(trust.user(&shown(&[clients.client("bob")]), &HeaderMap::new())),
            "nobody",
            "{key}"
        );
    }
}

/// A certificate of a client, and `count` self-made authorities of one name that could each have vouched for it and for one
/// another: a search for a path among them tries every order. The name has `length` letters.
fn self_made_chain(count: usize, length: usize) -> (Vec<CertificateDer<'static>>, KeyPair) {
    let name = "x".repeat(length);
    let authorities: Vec<Authority> = (0..count).map(|_| Authority::named(&name)).collect();
    let key = KeyPair::generate().unwrap();
    let parameters = CertificateParams::new(Vec::new()).unwrap();
    let own = parameters.signed_by(&key, &authorities[0].0).unwrap().der().clone();
    let chain = std::iter::once(own).chain(authorities.iter().map(|authority| authority.0.der().clone()));
    (chain.collect(), key)
}

/// Whether a server that asks for certificates answers a client that shows these.
async fn is_answered(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> bool {
    let certificate = certificate();
    let tls = certificate.aggregated_server_config(MinimumTls::V1_3).unwrap();
    let server = Running::answering(Some(tls), Limits::DEFAULT, api::health(Checks::new())).await;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.ca_pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = config.with_root_certificates(roots).with_client_auth_cert(chain, key).unwrap();
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let Ok(mut stream) = TlsConnector::from(Arc::new(config)).connect(name, stream).await else {
        return false;
    };
    // With TLS 1.3 the client learns by its first read that it was refused.
    let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut answer = Vec::new();
    let asked = stream.write_all(request).await;
    asked.is_ok() && stream.read_to_end(&mut answer).await.is_ok() && answer.starts_with(b"HTTP/1.1 200")
}

#[tokio::test]
async fn long_chains_of_certificates_are_refused_before_anybody_looks_for_a_path() {
    for (count, is_short) in [(1, true), (4, true), (5, false), (60, false)] {
        let (chain, key) = self_made_chain(count, 22);
        assert_eq!(is_answered(chain, &key).await, is_short, "{count} authorities");
    }
    // Long names make few certificates large: those that are too large are so with the client's own alone.
    for (length, is_short) in [(1_500, true), (1_650, false)] {
        let (chain, key) = self_made_chain(4, length);
        let size: usize = chain.iter().map(|certificate| certificate.len()).sum();
        assert_eq!(
            [size, size - chain[0].len()].map(|size| size <= 16 * 1024),
            [is_short, true],
            "{size} bytes"
        );
        assert_eq!(is_answered(chain, &key).await, is_short, "{size} bytes");
    }
}
