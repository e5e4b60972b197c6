//! What the kubelet, a load balancer and an agent ask, each time on a connection of its own, and how long the answer takes.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};

use crate::services::network::Network;

/// Longer than anybody waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a port speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Plain,
    Tls,
}

/// A question that somebody asks over and over.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    from: Network,
    to: SocketAddr,
    transport: Transport,
    request: String,
    /// When it is asked once more after a connection that broke.
    again_after: Option<Duration>,
}

impl Question {
    /// `headers` end with a line break, where there are any.
    pub(crate) fn new(
        from: &Network,
        (to, transport): (SocketAddr, Transport),
        path: &str,
        headers: &str,
    ) -> Self {
        Self { from: from.clone(), to, transport, request: request(path, headers), again_after: None }
    }

    /// Asked by somebody who asks once more, after so long, where the connection broke.
    pub(crate) fn again_after(self, pause: Duration) -> Self {
        Self { again_after: Some(pause), ..self }
    }

    /// How long it takes until the first line of the answer is there, which says that all is well.
    pub(crate) fn time(&self) -> Result<Duration> {
        self.from.within(|| {
            let begun = Instant::now();
            let line = self.ask_at_most_twice().with_context(|| format!("{} does not answer", self.to))?;
            ensure!(line.starts_with("HTTP/1.1 200"), "{} answers {line:?}", self.to);
            Ok(begun.elapsed())
        })
    }

    fn ask_at_most_twice(&self) -> Result<String> {
        match (self.ask(), self.again_after) {
            (Err(_), Some(pause)) => {
                wait::pause(pause);
                self.ask()
            }
            (answer, _) => answer,
        }
    }

    fn ask(&self) -> Result<String> {
        let stream = TcpStream::connect_timeout(&self.to, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(match self.transport {
            Transport::Plain => first_line(stream, &self.request)?,
            Transport::Tls => {
                let config = Arc::new(trusting()?.with_no_client_auth());
                let client = ClientConnection::new(config, name()?)?;
                first_line(StreamOwned::new(client, stream), &self.request)?
            }
        })
    }
}

fn first_line(mut stream: impl Read + Write, request: &str) -> io::Result<String> {
    stream.write_all(request.as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}

/// Of HTTP/1.1, on a connection that stays.
pub(super) fn request(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
}

/// The name that clients ask for; nobody looks at it.
pub(super) fn name() -> Result<ServerName<'static>> {
    ServerName::try_from("localhost").context("no name")
}

/// A client that takes whoever answers.
pub(super) fn trusting() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .context("no version of TLS")?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))))
}

/// It is asked how soon somebody answers, not who.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
