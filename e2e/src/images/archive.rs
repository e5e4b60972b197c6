//! Image archives as `docker save` writes them: layers, a configuration for each image, `manifest.json`.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::command::Run as _;

/// An uncompressed layer on disk.
#[derive(Debug)]
pub struct Layer {
    path: PathBuf,
    digest: String,
}

/// An image made of layers, lowest first.
#[derive(Debug)]
pub struct Image<'a> {
    /// Its names with tags.
    pub tags: Vec<String>,
    /// What its file system is made of.
    pub layers: Vec<&'a Layer>,
    /// ENTRYPOINT.
    pub entrypoint: Vec<String>,
    /// CMD.
    pub command: Vec<String>,
}

impl Layer {
    /// Packs a folder; the same folder gives the same layer.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn of_folder(folder: &Path, layer: &Path) -> Result<Self> {
        Command::new("tar")
            .args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "-C"])
            .arg(folder)
            .arg("-cf")
            .arg(layer)
            .arg(".")
            .run()?;
        let mut hash = Hasher(Sha256::new());
        let file = File::open(layer).with_context(|| format!("cannot read {}", layer.display()))?;
        io::copy(&mut io::BufReader::with_capacity(1 << 20, file), &mut hash)
            .with_context(|| format!("cannot read {}", layer.display()))?;
        Ok(Self { path: layer.to_owned(), digest: hash.hex() })
    }
}

/// Writes one archive of all images; a layer that several share is in it once.
///
/// # Errors
/// When the disk does not take it.
pub(super) fn write(images: &[Image<'_>], path: &Path) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let file = File::create(path).with_context(failed)?;
    let mut tar = tar::Builder::new(BufWriter::with_capacity(1 << 20, file));
    let mut manifest = Vec::new();
    let mut written: Vec<&str> = Vec::new();
    for image in images {
        for layer in &image.layers {
            if !written.contains(&layer.digest.as_str()) {
                let size = layer.path.metadata().with_context(failed)?.len();
                let contents = File::open(&layer.path).with_context(failed)?;
                append(&mut tar, &layer_name(layer), size, contents).with_context(failed)?;
                written.push(&layer.digest);
            }
        }
        let configuration = configuration(image).to_string();
        let name = format!("{}.json", Hasher(Sha256::new_with_prefix(&configuration)).hex());
        append(&mut tar, &name, length(&configuration), configuration.as_bytes()).with_context(failed)?;
        let layers: Vec<String> = image.layers.iter().map(|layer| layer_name(layer)).collect();
        manifest.push(json!({ "Config": name, "RepoTags": image.tags, "Layers": layers }));
    }
    let manifest = serde_json::Value::from(manifest).to_string();
    append(&mut tar, "manifest.json", length(&manifest), manifest.as_bytes()).with_context(failed)?;
    tar.into_inner().and_then(|mut writer| writer.flush()).with_context(failed)
}

fn configuration(image: &Image<'_>) -> serde_json::Value {
    let digests: Vec<String> = image.layers.iter().map(|layer| format!("sha256:{}", layer.digest)).collect();
    json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": image.entrypoint,
            "Cmd": image.command,
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/"],
        },
        "rootfs": { "type": "layers", "diff_ids": digests },
    })
}

fn layer_name(layer: &Layer) -> String {
    format!("{}/layer.tar", layer.digest)
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

fn append(tar: &mut tar::Builder<impl Write>, name: &str, size: u64, contents: impl Read) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    tar.append_data(&mut header, name, contents)
}

/// SHA-256 of what is written to it.
struct Hasher(Sha256);

impl Hasher {
    fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
