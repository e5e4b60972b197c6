//! OCI image archives (OCI image-spec 1.0, image layout in a tar): what `ctr images import` and registries take.
//!
//! Everything that could differ between two runs is fixed: entries are sorted, owners are root, times are zero.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// One file, link or directory of a layer, by its absolute path without the leading `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Directory { mode: u32 },
    File { mode: u32, content: Vec<u8> },
    Symlink { target: String },
}

/// The entries of one layer, in the order of their paths.
pub(crate) type Layer = BTreeMap<String, Entry>;

/// What a container runtime is told about an image.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    /// The full reference, e.g. `docker.io/antrea/antrea-agent-debian:0.1.0`.
    pub(crate) reference: String,
    pub(crate) entrypoint: Vec<String>,
    pub(crate) labels: BTreeMap<String, String>,
    /// From the lowest to the topmost.
    pub(crate) layers: Vec<Layer>,
}

/// Writes the image to `path`, whole or not at all, and returns the digest of its manifest.
pub(crate) fn write(image: &Image, path: &Path) -> Result<String> {
    let layers = image.layers.iter().map(layer_tar).collect::<Result<Vec<_>>>()?;
    let digests: Vec<String> = layers.iter().map(|layer| digest(layer)).collect();
    let config = serde_json::to_vec(&config(image, &digests))?;
    let manifest = serde_json::to_vec(&manifest(&config, &layers, &digests))?;
    let manifest_digest = digest(&manifest);
    let index = serde_json::to_vec(&index(image, &manifest, &manifest_digest))?;

    let mut archive = BTreeMap::new();
    for (blob, name) in layers.iter().zip(&digests) {
        archive.insert(blob_path(name), blob.as_slice());
    }
    archive.insert(blob_path(&digest(&config)), &config);
    archive.insert(blob_path(&manifest_digest), &manifest);
    archive.insert("index.json".to_owned(), &index);
    archive.insert("oci-layout".to_owned(), br#"{"imageLayoutVersion":"1.0.0"}"#);
    write_archive(&archive, path)
        .with_context(|| format!("cannot write the image archive {}", path.display()))?;
    Ok(manifest_digest)
}

fn config(image: &Image, layers: &[String]) -> Value {
    json!({
        "architecture": "amd64",
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": {
            "Entrypoint": image.entrypoint,
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "Labels": image.labels,
        },
        "rootfs": {"type": "layers", "diff_ids": layers},
        "history": layers.iter().map(|_| json!({"created_by": "cargo xtask image"})).collect::<Vec<_>>(),
    })
}

fn manifest(config: &[u8], layers: &[Vec<u8>], digests: &[String]) -> Value {
    let layer = |(content, digest): (&Vec<u8>, &String)| {
        json!({
            "mediaType": "application/vnd.oci.image.layer.v1.tar",
            "digest": digest,
            "size": content.len(),
        })
    };
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {
            "mediaType": "application/vnd.oci.image.config.v1+json",
            "digest": digest(config),
            "size": config.len(),
        },
        "layers": layers.iter().zip(digests).map(layer).collect::<Vec<_>>(),
    })
}

fn index(image: &Image, manifest: &[u8], digest: &str) -> Value {
    let tag = image.reference.rsplit(':').next().unwrap_or_default();
    json!({
        "schemaVersion": 2,
        "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": digest,
            "size": manifest.len(),
            "annotations": {
                "io.containerd.image.name": image.reference,
                "org.opencontainers.image.ref.name": tag,
            },
        }],
    })
}

fn layer_tar(layer: &Layer) -> Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, entry) in layer {
        let mut header = fixed_header();
        match entry {
            Entry::Directory { mode } => {
                header.set_entry_type(tar::EntryType::Directory);
                header.set_mode(*mode);
                tar.append_data(&mut header, format!("{path}/"), std::io::empty())
            }
            Entry::File { mode, content } => {
                header.set_mode(*mode);
                header.set_size(content.len() as u64);
                tar.append_data(&mut header, path, content.as_slice())
            }
            Entry::Symlink { target } => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_mode(0o777);
                tar.append_link(&mut header, path, target)
            }
        }
        .with_context(|| format!("cannot add {path} to a layer"))?;
    }
    Ok(tar.into_inner()?)
}

/// An archive that is there already and is the same keeps its time: what was made of it need not be made again.
fn write_archive(files: &BTreeMap<String, &[u8]>, path: &Path) -> Result<()> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = fixed_header();
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, name, *content)?;
    }
    let bytes = tar.into_inner()?;
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    let unfinished = path.with_extension("tar.unfinished");
    fs::write(&unfinished, bytes)?;
    Ok(fs::rename(&unfinished, path)?)
}

fn fixed_header() -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(0);
    header
}

fn blob_path(digest: &str) -> String {
    format!("blobs/{}", digest.replace(':', "/"))
}

/// `sha256:` and the digest of a content.
pub(super) fn digest(content: &[u8]) -> String {
    let hash = Sha256::digest(content);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn sample() -> Image {
        let mut layer = Layer::new();
        layer.insert("usr".into(), Entry::Directory { mode: 0o755 });
        layer.insert("usr/hello".into(), Entry::File { mode: 0o755, content: b"hello".to_vec() });
        layer.insert("bin".into(), Entry::Symlink { target: "usr/bin".into() });
        Image {
            reference: "docker.io/antrea/sample:1".into(),
            entrypoint: vec!["/usr/hello".into()],
            labels: BTreeMap::new(),
            layers: vec![layer],
        }
    }

    #[test]
    fn the_same_image_gives_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("1.tar"), folder.path().join("2.tar"));
        assert_eq!(write(&sample(), &first).unwrap(), write(&sample(), &second).unwrap());
        assert_eq!(fs::read(first).unwrap(), fs::read(second).unwrap());
    }

    #[test]
    fn an_archive_is_written_anew_only_when_its_image_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image.tar");
        let written = |image: &Image| {
            write(image, &path).unwrap();
            fs::metadata(&path).unwrap().ino()
        };
        let first = written(&sample());
        assert_eq!(written(&sample()), first);
        assert_ne!(written(&Image { labels: [("a".into(), "b".into())].into(), ..sample() }), first);
    }

    #[test]
    fn an_archive_that_cannot_be_finished_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image.tar");
        fs::write(&path, "old").unwrap();
        fs::create_dir(path.with_extension("tar.unfinished")).unwrap();
        assert!(write(&sample(), &path).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn the_archive_is_an_oci_image_layout() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image.tar");
        let digest = write(&sample(), &path).unwrap();
        let mut archive = tar::Archive::new(fs::File::open(path).unwrap());
        let names: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert!(names.contains(&"oci-layout".to_owned()) && names.contains(&"index.json".to_owned()));
        assert!(names.contains(&blob_path(&digest)), "{names:?} lacks the manifest {digest}");
        assert_eq!(names.len(), 5);
    }
}
