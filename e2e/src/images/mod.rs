//! The container images of every lab: pause, CoreDNS, and the test images by the names that Kubernetes' own suites
//! use. No registry is asked: all are made from the built programs and Debian's packages.

mod archive;
mod userland;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

pub use archive::{Image, Layer};

use crate::node_config::PAUSE_IMAGE;
use crate::programs::Programs;

/// The test image: agnhost and a shell with the usual network tools.
pub const AGNHOST_IMAGE: &str = "registry.k8s.io/e2e-test-images/agnhost:2.63.0";
/// Cluster DNS.
pub const COREDNS_IMAGE: &str = "registry.k8s.io/coredns/coredns:v1.14.7";

const SOURCES: [&str; 3] = [include_str!("mod.rs"), include_str!("archive.rs"), include_str!("userland.rs")];

/// A text that differs when the images would.
pub fn version(programs: &Programs) -> String {
    SOURCES.concat() + &programs.version()
}

/// Builds all images and writes them to one archive.
///
/// # Errors
/// When Debian's packages cannot be fetched or the disk does not take it.
pub fn build(programs: &Programs, archive: &Path) -> Result<()> {
    let work = archive.with_extension("work");
    fs::create_dir_all(&work).with_context(|| format!("cannot create {}", work.display()))?;
    let layers = Layers {
        userland: userland::build(programs, &work)?,
        pause: single_program(&work, "pause", &programs.path("pause")?)?,
        coredns: single_program(&work, "coredns", &programs.path("coredns")?)?,
    };
    archive::write(&images(&layers), archive)?;
    crate::cache::remove(&work)
}

struct Layers {
    userland: Layer,
    pause: Layer,
    coredns: Layer,
}

/// Every name that the specs of Kubernetes v1.36 ask for is answered by the same few layers.
fn images(layers: &Layers) -> Vec<Image<'_>> {
    let tests = || vec![&layers.userland, &layers.coredns];
    let image = |tags: &[&str], layers, entrypoint: &[&str], command: &[&str]| Image {
        tags: own(tags),
        layers,
        entrypoint: own(entrypoint),
        command: own(command),
    };
    let agnhost = [
        AGNHOST_IMAGE,
        "registry.k8s.io/e2e-test-images/agnhost:2.55",
        "registry.k8s.io/e2e-test-images/agnhost:2.45",
        "registry.k8s.io/e2e-test-images/agnhost:2.43",
    ];
    let shells = [
        "registry.k8s.io/e2e-test-images/busybox:1.37.0-1",
        "registry.k8s.io/e2e-test-images/glibc-dns-testing:2.0.0",
        "docker.io/nicolaka/netshoot:v0.15",
    ];
    let web =
        ["registry.k8s.io/e2e-test-images/nginx:1.15-4", "registry.k8s.io/e2e-test-images/nginx:1.27-0"];
    vec![
        image(&[PAUSE_IMAGE], vec![&layers.pause], &["/pause"], &[]),
        image(&[COREDNS_IMAGE], vec![&layers.coredns], &["/coredns"], &[]),
        image(&agnhost, tests(), &["/agnhost"], &["pause"]),
        image(&shells, tests(), &[], &["sh"]),
        image(&["docker.io/alpine/socat:1.7.4.4"], tests(), &["socat"], &[]),
        image(&web, tests(), &["/usr/bin/agnhost", "netexec", "--http-port=80", "--udp-port=-1"], &[]),
    ]
}

fn own(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A layer with one static program at its root.
fn single_program(work: &Path, name: &str, program: &Path) -> Result<Layer> {
    let rootfs = work.join(format!("{name}-rootfs"));
    fs::create_dir_all(&rootfs).with_context(|| format!("cannot create {}", rootfs.display()))?;
    fs::copy(program, rootfs.join(name)).with_context(|| format!("cannot copy {}", program.display()))?;
    Layer::of_folder(&rootfs, &work.join(format!("{name}.tar")))
}
