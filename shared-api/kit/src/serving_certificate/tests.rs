//! Certificates that are renewed, and those who trust them.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use futures::{StreamExt, stream};
use http_body_util::StreamBody;
use hyper::Response;
use hyper::body::{Bytes, Frame};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::broadcast;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::server::{Handler, Limits, Server};

const DAY: Duration = Duration::from_secs(24 * 3600);

#[test]
fn a_certificate_is_renewed_a_fifth_of_its_life_before_its_end() {
    let now = SystemTime::now();
    assert!(!is_due(now, now, LIFETIME));
    assert!(!is_due(now, now + DAY * 291, LIFETIME));
    assert!(is_due(now, now + DAY * 292, LIFETIME));
    assert!(is_due(now, now - DAY, LIFETIME), "the clock was set back");
}

#[test]
fn a_renewed_certificate_has_another_key_and_the_same_authority() {
    let now = SystemTime::now();
    let names = ["localhost".to_owned()];
    let stored = StoredAuthority::generate("a").unwrap();
    let authority = Authority::restore("a", &names, &stored).unwrap();
    let certificate = ServingCertificate::valid_for(authority, now, DAY).unwrap();
    let (first, authority) = (certificate.current(), certificate.ca_pem());
    assert_eq!(certificate.renew_if_due(now + DAY / 2).unwrap(), Renewal::NotDue);
    assert_eq!(certificate.renew_if_due(now + DAY).unwrap(), Renewal::Renewed);
    let second = certificate.current();
    assert_ne!(first.key.cert[0], second.key.cert[0]);
    assert_eq!(first.key.cert[1], second.key.cert[1]);
    assert_eq!(certificate.ca_pem(), authority);
}

#[test]
fn processes_that_share_an_authority_are_trusted_alike() {
    let names = ["localhost".to_owned()];
    let stored = StoredAuthority::generate("a").unwrap();
    let both = [(); 2].map(|()| ServingCertificate::issued_by(&stored, "a", &names).unwrap());
    assert_eq!(both[0].ca_pem(), both[1].ca_pem());
    let chains = both.map(|one| one.current().key.cert.clone());
    assert_ne!(chains[0][0], chains[1][0], "each has a key of its own");
    assert_eq!(chains[0][1], chains[1][1]);
}

#[test]
fn an_authority_that_was_damaged_is_an_error_not_a_new_one() {
    let stored = StoredAuthority::generate("a").unwrap();
    for damaged in [
        StoredAuthority { key: String::new(), ..stored.clone() },
        StoredAuthority { certificate: "none".to_owned(), ..stored },
    ] {
        assert!(ServingCertificate::issued_by(&damaged, "a", &[]).is_err());
    }
}

/// Whether a certificate has a time in it, as `YYMMDDhhmmssZ`.
fn says(certificate: &CertificateDer<'_>, time: &str) -> bool {
    certificate.windows(time.len()).any(|window| window == time.as_bytes())
}

#[test]
fn what_vouches_has_an_end_and_no_leaf_outlives_it() {
    let time = |text: &str| SystemTime::from(text.parse::<jiff::Timestamp>().unwrap());
    let (now, ends) = (time("2026-11-20T00:00:00Z"), time("2027-11-20T00:00:00Z"));
    let stored = StoredAuthority::generate_until("a", now, ends).unwrap();
    let authority = Authority::restore("a", &["localhost".to_owned()], &stored).unwrap();
    let certificate = ServingCertificate::valid_for(authority, now, DAY).unwrap();
    let shown = certificate.current().key.cert.clone();
    assert!(says(&shown[0], "261121000000Z"), "a day later");
    assert!(says(&shown[1], "261119000000Z") && says(&shown[1], "271120000000Z"));
    let late = time("2027-11-19T12:00:00Z");
    assert_eq!(certificate.renew_if_due(late).unwrap(), Renewal::Renewed);
    assert!(says(&certificate.current().key.cert[0], "271120000000Z"), "as what vouches for it");
    assert_eq!(certificate.renew_if_due(ends).unwrap(), Renewal::NotDue, "nothing vouches any more");
}

#[test]
fn a_server_goes_over_to_another_authority_or_stays_with_the_one_it_has() {
    let [first, second] = [(); 2].map(|()| StoredAuthority::generate("a").unwrap());
    let certificate = ServingCertificate::issued_by(&first, "a", &["localhost".to_owned()]).unwrap();
    certificate.reissue(&second).unwrap();
    assert!(certificate.reissue(&StoredAuthority { key: String::new(), ..first }).is_err());
    assert_eq!(certificate.ca_pem(), second.certificate);
    let authority = CertificateDer::from_pem_slice(second.certificate.as_bytes()).unwrap();
    assert_eq!(certificate.current().key.cert[1], authority);
}

/// Sends whoever watches what happens.
async fn serve(certificate: &Arc<ServingCertificate>, events: broadcast::Sender<&'static str>) -> SocketAddr {
    let handler: Handler<_> = Arc::new(move |_| {
        let events = stream::unfold(events.subscribe(), |mut events| async {
            events.recv().await.ok().map(|event| (event, events))
        });
        let frames = events.map(|event| Ok::<_, Infallible>(Frame::data(Bytes::from(event))));
        let answer = Response::new(StreamBody::new(frames.boxed()));
        Box::pin(std::future::ready(answer))
    });
    let tls = certificate.server_config(MinimumTls::V1_2).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::bind(address, Some(tls), Limits::default(), handler).await.unwrap();
    let address = server.local_addr();
    tokio::spawn(server.run(CancellationToken::new()));
    address
}

/// Begins a watch, trusting `authority`.
async fn watch(address: SocketAddr, authority: &str) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let mut watch = TlsConnector::from(config).connect(name, stream).await.unwrap();
    watch.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    read_up_to(&mut watch, "\r\n\r\n").await;
    watch
}

async fn read_up_to(watch: &mut TlsStream<TcpStream>, text: &str) {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(text) {
        read.push(watch.read_u8().await.unwrap());
    }
}

#[tokio::test]
async fn a_watch_goes_on_when_the_certificate_is_renewed_and_new_ones_are_shown_the_new_one() {
    let now = SystemTime::now();
    let stored = StoredAuthority::generate("a").unwrap();
    let authority = Authority::restore("a", &["localhost".to_owned()], &stored).unwrap();
    let certificate = ServingCertificate::valid_for(authority, now, DAY).unwrap();
    let (published, events) = (certificate.ca_pem(), broadcast::Sender::new(8));
    let address = serve(&certificate, events.clone()).await;
    let mut old = watch(address, &published).await;
    events.send("before").unwrap();
    read_up_to(&mut old, "before").await;
    assert_eq!(certificate.renew_if_due(now + DAY).unwrap(), Renewal::Renewed);
    let mut new = watch(address, &published).await;
    events.send("after").unwrap();
    read_up_to(&mut old, "after").await;
    read_up_to(&mut new, "after").await;
    let shown = |watch: &TlsStream<TcpStream>| watch.get_ref().1.peer_certificates().unwrap().to_vec();
    assert_ne!(shown(&old)[0], shown(&new)[0]);
    assert_eq!(shown(&old)[1], shown(&new)[1], "nobody has to be told of another authority");
}
