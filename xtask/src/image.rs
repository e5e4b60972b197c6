//! `cargo xtask image`: the OCI archives of our programs, written reproducibly and without a container engine.

mod debian;
mod oci;
mod rootfs;
mod spdx;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use debian::Origin;
use oci::{Image, Layer};
use rootfs::Rootfs;
use spdx::Contents;

use crate::crates::Crates;
use crate::project;

/// Programs of Debian's packages that the agent's image carries: Open vSwitch, the tools the agent runs, and what
/// people reach for when they look inside.
const AGENT_PROGRAMS: [&str; 22] = [
    "/usr/sbin/ovsdb-server",
    "/usr/sbin/ovs-vswitchd",
    "/usr/bin/ovs-vsctl",
    "/usr/bin/ovs-ofctl",
    "/usr/bin/ovs-appctl",
    "/usr/bin/ovs-dpctl",
    "/usr/bin/ovsdb-client",
    "/usr/bin/ovsdb-tool",
    "/usr/sbin/iptables",
    "/usr/sbin/iptables-save",
    "/usr/sbin/iptables-restore",
    "/usr/sbin/ip6tables",
    "/usr/sbin/ip6tables-save",
    "/usr/sbin/ip6tables-restore",
    "/usr/sbin/ipset",
    "/usr/sbin/nft",
    "/usr/sbin/conntrack",
    "/usr/sbin/ethtool",
    "/usr/bin/ip",
    "/usr/bin/ss",
    "/usr/bin/tcpdump",
    "/usr/bin/busybox",
];

/// Applets of busybox that scripts and probes may call by name.
const APPLETS: [&str; 12] =
    ["sh", "cat", "ls", "ps", "sleep", "grep", "ping", "ping6", "nc", "nslookup", "wget", "env"];

/// Beside root, the user that the charts run programs as that need no rights on the Node: `nonroot`, as in other images.
const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nnonroot:x:65532:65532:nonroot:/:/bin/sh\n";
const GROUP: &str = "root:x:0:\nnonroot:x:65532:\n";

/// The reference plugins that the conflist chains, installed on the Node beside our own.
const CNI_PLUGINS: [&str; 3] = ["portmap", "bandwidth", "loopback"];

/// Where an archive lies and what it is called inside a cluster.
#[derive(Debug, Clone)]
pub struct Archive {
    pub reference: String,
    pub path: PathBuf,
    pub digest: String,
    /// The SPDX document of what is in it, which the image has as well.
    pub spdx: PathBuf,
}

/// Packages with programs that the images of core carry, and those of Multi-cluster.
const PACKAGES_OF_CORE: [&str; 4] = ["antrea-agent", "antrea-cni", "antrea-controller", "antctl"];
const PACKAGES_OF_MULTICLUSTER: [&str; 2] = ["antrea-mc-controller", "antctl-mc"];

/// Which images are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Products {
    /// Those of core Antrea.
    Core,
    /// Those of core and of Multi-cluster.
    Both,
}

impl Products {
    fn packages(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Core => &[&PACKAGES_OF_CORE],
            Self::Both => &[&PACKAGES_OF_CORE, &PACKAGES_OF_MULTICLUSTER],
        }
    }
}

/// Builds the programs and writes one archive per image; returns them in a fixed order.
pub fn build(products: Products) -> Result<Vec<Archive>> {
    antrea_e2e::packages::ensure_installed()?;
    let programs = build_programs(products)?;
    let folder = project::target().join("images");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let _lock = lock(&folder)?;
    let crates = Crates::read()?;
    let images = images(&programs, products)?.into_iter();
    images.map(|content| write(&folder, content.name, content, &crates)).collect()
}

/// The tag of the image with a controller that reads and writes a field more, for tests of version skew.
const NEXT: &str = "next";
const PROGRAMS_OF_NEXT: [&str; 1] = ["antrea-mc-controller"];

/// Builds that controller and writes its archive. The programs of this version are in their place again afterwards.
pub fn build_next() -> Result<Archive> {
    let folder = project::target().join("images");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let _lock = lock(&folder)?;
    let programs = build_next_program(&folder);
    build_programs(Products::Both)?;
    let [name] = PROGRAMS_OF_NEXT;
    let rootfs = vec![with_programs(base()?, &programs?, &PROGRAMS_OF_NEXT)?];
    let content =
        Content { name, version: NEXT.to_owned(), entrypoint: name, programs: &PROGRAMS_OF_NEXT, rootfs };
    write(&folder, &format!("{name}-{NEXT}"), content, &Crates::read()?)
}

/// Builds it where cargo has the libraries already, and returns the folder that it is kept in.
fn build_next_program(folder: &Path) -> Result<PathBuf> {
    cargo_build(&["-p", "antrea-mc-controller", "--features", "antrea-mc-core/next"])?;
    let kept = folder.join(NEXT);
    fs::create_dir_all(&kept).with_context(|| format!("cannot create {}", kept.display()))?;
    let (from, to) = (project::programs().join("antrea-mc-controller"), kept.join("antrea-mc-controller"));
    fs::copy(&from, &to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(kept)
}

/// What goes into an archive.
struct Content {
    name: &'static str,
    version: String,
    /// A program of ours.
    entrypoint: &'static str,
    /// All of them, which are packages of the same names.
    programs: &'static [&'static str],
    /// A layer each, from the lowest to the topmost.
    rootfs: Vec<Rootfs>,
}

const PROGRAMS_OF_AGENT: [&str; 3] = ["antctl", "antrea-agent", "antrea-cni"];
const PROGRAMS_OF_CONTROLLER: [&str; 2] = ["antctl", "antrea-controller"];

/// The images of core, then that of Multi-cluster.
fn images(programs: &Path, products: Products) -> Result<Vec<Content>> {
    let core = chart_version("antrea")?;
    let with = |rootfs, names: &[&str]| with_programs(rootfs, programs, names);
    let mut images = vec![
        Content {
            name: "antrea-agent-debian",
            version: core.clone(),
            entrypoint: "antrea-agent",
            programs: &PROGRAMS_OF_AGENT,
            rootfs: vec![agent_tools()?, with(Rootfs::default(), &PROGRAMS_OF_AGENT)?],
        },
        Content {
            name: "antrea-controller-debian",
            version: core,
            entrypoint: "antrea-controller",
            programs: &PROGRAMS_OF_CONTROLLER,
            rootfs: vec![with(base()?, &PROGRAMS_OF_CONTROLLER)?],
        },
    ];
    if products == Products::Both {
        images.push(Content {
            name: "antrea-mc-controller",
            version: format!("v{}", chart_version("antrea-mc")?),
            entrypoint: "antrea-mc-controller",
            programs: &PACKAGES_OF_MULTICLUSTER,
            rootfs: vec![with(base()?, &PACKAGES_OF_MULTICLUSTER)?],
        });
    }
    Ok(images)
}

/// Held while archives are written: two commands would take each other's temporary files.
fn lock(folder: &Path) -> Result<fs::File> {
    let path = folder.join(".lock");
    let file = fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

fn write(folder: &Path, file: &str, content: Content, crates: &Crates) -> Result<Archive> {
    let Content { name, version, entrypoint, programs, rootfs } = content;
    let (mut layers, taken): (Vec<Layer>, Vec<_>) = rootfs.into_iter().map(Rootfs::into_parts).unzip();
    let document = spdx_document((name, &version), &taken.into_iter().flatten().collect(), programs, crates)?;
    let spdx = folder.join(format!("{file}.spdx.json"));
    fs::write(&spdx, &document).with_context(|| format!("cannot write {}", spdx.display()))?;
    let mut described = Rootfs::default();
    described.add_file(&format!("usr/share/spdx/{name}.spdx.json"), 0o644, document.into_bytes());
    layers.push(described.into_parts().0);
    let image = Image {
        reference: format!("docker.io/antrea/{name}:{version}"),
        entrypoint: vec![format!("/usr/local/bin/{entrypoint}")],
        labels: BTreeMap::from([
            ("org.opencontainers.image.title".to_owned(), name.to_owned()),
            ("org.opencontainers.image.version".to_owned(), version),
            ("org.opencontainers.image.licenses".to_owned(), "Apache-2.0".to_owned()),
        ]),
        layers,
    };
    let path = folder.join(format!("{file}.tar"));
    let digest = oci::write(&image, &path)?;
    Ok(Archive { reference: image.reference, path, digest, spdx })
}

/// What is in an image: the packages that files of this machine come from, and the crates of our programs.
fn spdx_document(
    image: (&str, &str),
    taken: &BTreeSet<PathBuf>,
    programs: &[&str],
    crates: &Crates,
) -> Result<String> {
    let origin = Origin::of(taken)?;
    spdx::document(&Contents { image, origin: &origin, crates: crates.linked_into(programs)? })
}

/// Builds our programs for images and returns the folder they are in.
fn build_programs(products: Products) -> Result<PathBuf> {
    let packages = products.packages().concat();
    cargo_build(&packages.iter().flat_map(|package| ["-p", package]).collect::<Vec<_>>())?;
    Ok(project::programs())
}

fn cargo_build(what: &[&str]) -> Result<()> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--bins"])
        .args(what)
        .current_dir(project::root())
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "cargo could not build the programs of the images; see its output above");
    Ok(())
}

/// The lower layer of the agent's image: it changes only with Debian's packages.
fn agent_tools() -> Result<Rootfs> {
    let mut rootfs = Rootfs::new();
    for program in AGENT_PROGRAMS {
        rootfs.add_program(program)?;
    }
    rootfs.add_folder("/usr/share/openvswitch", ".ovsschema")?;
    rootfs.add_folder("/usr/lib/x86_64-linux-gnu/xtables", ".so")?;
    // Without it iptables prints numbers where rules were written with names.
    rootfs.add_host_file(Path::new("/etc/protocols"))?;
    for plugin in CNI_PLUGINS {
        rootfs.add_program_as(&Path::new("/usr/lib/cni").join(plugin), &format!("opt/cni/bin/{plugin}"))?;
    }
    add_users_and_applets(&mut rootfs);
    Ok(rootfs)
}

/// The base of images that need no more than a shell, for people and probes, beside our own programs.
fn base() -> Result<Rootfs> {
    let mut rootfs = Rootfs::new();
    rootfs.add_program("/usr/bin/busybox")?;
    add_users_and_applets(&mut rootfs);
    Ok(rootfs)
}

/// A layer with programs of ours on top of `rootfs`.
fn with_programs(mut rootfs: Rootfs, folder: &Path, programs: &[&str]) -> Result<Rootfs> {
    for program in programs {
        rootfs.add_built(&folder.join(program), &format!("usr/local/bin/{program}"))?;
    }
    Ok(rootfs)
}

fn add_users_and_applets(rootfs: &mut Rootfs) {
    for applet in APPLETS {
        rootfs.add_link(&format!("usr/bin/{applet}"), "busybox");
    }
    rootfs.add_file("etc/passwd", 0o644, PASSWD.into());
    rootfs.add_file("etc/group", 0o644, GROUP.into());
}

/// Images carry the version that their chart asks for.
fn chart_version(chart: &str) -> Result<String> {
    let path = project::root().join("charts").join(chart).join("Chart.yaml");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let chart: serde_json::Value =
        serde_saphyr::from_str(&text).with_context(|| format!("{} is not valid YAML", path.display()))?;
    let version =
        chart["appVersion"].as_str().with_context(|| format!("{} lacks appVersion", path.display()))?;
    Ok(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_agents_image_takes_from_this_machine_is_of_packages_that_are_known() {
        let test = "what_the_agents_image_takes_from_this_machine_is_of_packages_that_are_known";
        let tools = match agent_tools() {
            Ok(tools) => tools,
            Err(error) => return println!("SKIPPED {test}: {error:#}"),
        };
        let origin = Origin::of(&tools.into_parts().1).unwrap();
        let has = |name: &str| origin.packages.iter().any(|package| package.name == name);
        for name in ["containernetworking-plugins", "iptables", "libc6", "netbase", "openvswitch-switch"] {
            assert!(has(name), "{name} is missing");
        }
        assert_eq!(origin.unknown, BTreeSet::new());
    }

    #[test]
    fn the_description_of_an_image_is_in_it_and_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let content = Content {
            name: "antrea-sample",
            version: "v1".into(),
            entrypoint: "antrea-cni",
            programs: &["antrea-cni"],
            rootfs: vec![Rootfs::default()],
        };
        let archive = write(folder.path(), "sample", content, &Crates::read().unwrap()).unwrap();
        let beside = fs::read(&archive.spdx).unwrap();
        let mut image = tar::Archive::new(fs::File::open(&archive.path).unwrap());
        let inside = image.entries().unwrap().find_map(|blob| described(blob.unwrap()));
        assert_eq!(inside, Some(beside));
    }

    /// The description in a blob of an image, if that is a layer which has one.
    fn described(blob: impl std::io::Read) -> Option<Vec<u8>> {
        let mut layer = tar::Archive::new(blob);
        let mut files = layer.entries().ok()?.filter_map(Result::ok);
        let mut file = files.find(|file| {
            file.path().is_ok_and(|path| path == Path::new("usr/share/spdx/antrea-sample.spdx.json"))
        })?;
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut content).unwrap();
        Some(content)
    }
}
