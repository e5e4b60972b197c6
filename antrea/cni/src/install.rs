//! `antrea-cni install`: puts the plugins and the network configuration list where the container runtime finds them.
//!
//! Everything is written to a temporary file beside its destination and renamed, so that a runtime never sees half of
//! it, and the list comes last: once it is there, the plugins it names are, too.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use antrea_cni::{PLUGIN_TYPE, conflist};

use crate::kernel_module::Datapath;

/// The plugins of the CNI project that the list may name.
const STANDARD_PLUGINS: [&str; 3] = ["portmap", "bandwidth", "loopback"];

/// The name under which the list is installed.
const LIST: &str = "10-antrea.conflist";

/// Names of lists that earlier releases installed. Runtimes read the first file by name, so these must go.
const FORMER_LISTS: [&str; 1] = ["10-antrea.conf"];

/// What the command line says.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    bin_dir: PathBuf,
    conf_file: PathBuf,
    conf_dir: PathBuf,
    plugin_dir: PathBuf,
    skip: Vec<String>,
    /// Whose needs the kernel has to meet; none where the Node's administrator loads its modules.
    datapath: Option<Datapath>,
}

/// Runs `install` with the arguments that follow it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let list = fs::read_to_string(&options.conf_file).with_context(|| {
        format!("cannot read the network configuration list {}", options.conf_file.display())
    })?;
    conflist::validate(&list).with_context(|| format!("{} is refused", options.conf_file.display()))?;
    options.datapath.map_or(Ok(()), Datapath::load)?;

    let own_path = std::env::current_exe().context("cannot find the path of this program")?;
    install(&own_path, &options.bin_dir.join(PLUGIN_TYPE), 0o755)?;
    for plugin in
        STANDARD_PLUGINS.into_iter().filter(|plugin| !options.skip.iter().any(|skip| skip == plugin))
    {
        install(&options.plugin_dir.join(plugin), &options.bin_dir.join(plugin), 0o755)?;
    }
    install(&options.conf_file, &options.conf_dir.join(LIST), 0o644)?;
    FORMER_LISTS.into_iter().try_for_each(|former| remove(&options.conf_dir.join(former)))
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let (mut bin_dir, mut conf_file, mut conf_dir) = (None, None, None);
        let mut plugin_dir = PathBuf::from("/opt/cni/bin");
        let (mut skip, mut datapath) = (Vec::new(), None);
        let mut words = arguments.iter();
        while let Some(flag) = words.next() {
            let value = words.next().with_context(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--bin-dir" => bin_dir = Some(value.into()),
                "--conf-file" => conf_file = Some(value.into()),
                "--conf-dir" => conf_dir = Some(value.into()),
                "--plugin-dir" => plugin_dir = value.into(),
                "--skip" => skip.push(plugin_name(value)?),
                "--datapath" => datapath = Some(Datapath::parse(value)?),
                _ => bail!("install does not know {flag:?}: see antrea-cni --help"),
            }
        }
        Ok(Self {
            bin_dir: bin_dir.context("install needs --bin-dir")?,
            conf_file: conf_file.context("install needs --conf-file")?,
            conf_dir: conf_dir.context("install needs --conf-dir")?,
            plugin_dir,
            skip,
            datapath,
        })
    }
}

fn plugin_name(name: &str) -> Result<String> {
    let known = STANDARD_PLUGINS.join(", ");
    ensure!(
        STANDARD_PLUGINS.contains(&name),
        "--skip {name:?} is not a plugin that is installed: {known} are"
    );
    Ok(name.to_owned())
}

/// Copies a file over `destination` in one step, with the given permissions.
fn install(source: &Path, destination: &Path, mode: u32) -> Result<()> {
    let temporary = temporary_name(destination);
    let copy = || -> io::Result<()> {
        fs::copy(source, &temporary)?;
        fs::set_permissions(&temporary, Permissions::from_mode(mode))?;
        File::open(&temporary)?.sync_all()?;
        fs::rename(&temporary, destination)
    };
    copy()
        .inspect_err(|_| drop(fs::remove_file(&temporary)))
        .with_context(|| format!("cannot install {} as {}", source.display(), destination.display()))
}

/// A name beside `destination` that no runtime takes for a plugin or a configuration.
fn temporary_name(destination: &Path) -> PathBuf {
    let name = destination.file_name().unwrap_or_default().to_string_lossy();
    destination.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        let arguments: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn flags_are_read() {
        let options =
            parse("--bin-dir /b --conf-file /f --conf-dir /c --skip portmap --skip bandwidth").unwrap();
        assert_eq!(options.skip, ["portmap", "bandwidth"]);
        assert_eq!(options.datapath, None);
        assert_eq!(options.plugin_dir, Path::new("/opt/cni/bin"));
    }

    #[test]
    fn bad_flags_get_a_clear_error() {
        for (line, expected) in [
            ("", "install needs --bin-dir"),
            ("--bin-dir", "--bin-dir needs a value"),
            ("--bindir x", "install does not know \"--bindir\": see antrea-cni --help"),
            (
                "--skip flannel",
                "--skip \"flannel\" is not a plugin that is installed: portmap, bandwidth, loopback are",
            ),
        ] {
            assert_eq!(parse(line).unwrap_err().to_string(), expected);
        }
    }
}
