//! `antctl check serve`: says its name to whoever connects, then sends back what it gets.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// No connection lasts longer: those who ask give up earlier.
const LONGEST: Duration = Duration::from_secs(30);
const CONNECTIONS: usize = 256;

/// Answers until SIGTERM.
pub(crate) async fn serve(port: u16) -> Result<ExitCode> {
    let listener = listen(port).await?;
    let name = std::env::var("HOSTNAME").unwrap_or_default();
    let mut terminated = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    tokio::select! {
        () = answer(listener, name) => {}
        _ = terminated.recv() => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Both families, or IPv4 alone where the kernel has no other.
async fn listen(port: u16) -> Result<TcpListener> {
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))
            .await
            .with_context(|| format!("cannot listen at port {port}")),
    }
}

pub(super) async fn answer(listener: TcpListener, name: String) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else { continue };
        let hello = format!("{name}\n");
        tokio::spawn(async move {
            // Whoever asked knows best what went wrong.
            let _ = timeout(LONGEST, echo(stream, &hello)).await;
            drop(slot);
        });
    }
}

async fn echo(stream: TcpStream, hello: &str) -> std::io::Result<()> {
    let (mut read, mut write) = stream.into_split();
    write.write_all(hello.as_bytes()).await?;
    tokio::io::copy(&mut read, &mut write).await?;
    write.shutdown().await
}
