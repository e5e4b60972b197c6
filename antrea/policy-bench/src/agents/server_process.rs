//! The process of the API server, from outside.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;

use antrea_kit::kube_client::root_certificates;
use anyhow::{Context, Result};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::memory;

const LAST_OF_PEM: &str = "-----END CERTIFICATE-----";

/// Where a run of the server is, and who vouches for it.
#[derive(Clone)]
pub(super) struct Whereabouts {
    pub(super) run: u32,
    pub(super) address: SocketAddr,
    pub(super) tls: Arc<ClientConfig>,
}

/// A run of the server, killed when this is dropped.
pub(super) struct ServerProcess {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    whereabouts: Whereabouts,
}

impl ServerProcess {
    /// Starts one that asks this API server of Kubernetes; it listens then.
    pub(super) async fn start(run: u32, kubernetes: SocketAddr) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["ApiServer", "--kubernetes", &kubernetes.to_string()]);
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("it has no output")?).lines();
        let address = lines.next_line().await?.context("it does not say where it is")?.parse()?;
        let mut pem = String::new();
        while !pem.ends_with(LAST_OF_PEM) {
            pem.push('\n');
            pem.push_str(&lines.next_line().await?.context("it does not say who vouches for it")?);
        }
        let whereabouts = Whereabouts { run, address, tls: trusting(&pem)? };
        Ok(Self { child, lines, whereabouts })
    }

    /// Until agents are answered.
    pub(super) async fn until_filled(&mut self) -> Result<()> {
        self.lines.next_line().await?.context("it ended before it was filled").map(drop)
    }

    pub(super) fn whereabouts(&self) -> Whereabouts {
        self.whereabouts.clone()
    }

    pub(super) fn resident(&self) -> Result<u64> {
        memory::of(self.child.id(), "VmRSS:")
    }

    pub(super) fn peak_resident(&self) -> Result<u64> {
        memory::of(self.child.id(), "VmHWM:")
    }

    pub(super) async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// TLS as agents speak it.
fn trusting(pem: &str) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for certificate in root_certificates(pem.as_bytes())? {
        roots.add(certificate.into())?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let mut config =
        builder.with_safe_default_protocol_versions()?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}
