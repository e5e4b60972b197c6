//! Whom certificates are taken for: the front proxy, which speaks for others, and users.

use std::collections::BTreeMap;

use antrea_kit::auth::{CertificateTrust, User};
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::pki_types::CertificateDer;

/// An authority that vouches for clients.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
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

fn printed(user: Option<User>) -> String {
    user.map_or("nobody".to_owned(), |user| format!("{} {:?} {:?}", user.name, user.groups, user.extra))
}

const ALICE: &str = "x-remote-user: alice\nx-remote-group: dev\nx-remote-group: ops\nx-remote-extra-a%2fb: c";

#[test]
fn the_front_proxy_speaks_for_others() {
    let (proxy, clients) = (Authority::new(), Authority::new());
    let trust = CertificateTrust::default();
    let certificate = [proxy.client("front-proxy-client")];
    assert_eq!(printed(trust.user(&certificate, &headers(ALICE))), "nobody", "before anything is published");
    trust.set(&published(&proxy, &clients));
    assert_eq!(
        printed(trust.user(&certificate, &headers(ALICE))),
        r#"alice ["dev", "ops", "system:authenticated"] {"a/b": ["c"]}"#
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
    let check = |text: &str| printed(trust.user(&[proxy.client("front-proxy-client")], &headers(text)));
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
        assert_eq!(printed(trust.user(&[certificate], &headers(ALICE))), "nobody");
    }
    assert_eq!(printed(trust.user(&[], &headers(ALICE))), "nobody");
    let bob = [clients.client("bob")];
    assert_eq!(printed(trust.user(&bob, &headers(ALICE))), r#"bob ["team", "system:authenticated"] {}"#);
}

#[test]
fn what_cannot_be_read_is_trusted_for_nothing() {
    let (proxy, clients) = (Authority::new(), Authority::new());
    let certificate = [proxy.client("front-proxy-client")];
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
        assert_ne!(printed(trust.user(&[clients.client("bob")], &HeaderMap::new())), "nobody", "{key}");
    }
}
