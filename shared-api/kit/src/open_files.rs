//! How many files a process may have open; each connection is one.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tracing::warn;

/// Allows as many as the kernel lets the process allow itself. Container runtimes start programs with 1,024, for the sake of
/// old ones that cannot have more.
///
/// # Errors
/// When the kernel refuses.
pub fn allow_most() -> nix::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)
}

/// The same for a server, which goes on with the limit it has where the kernel refuses.
pub fn allow_most_or_warn() {
    if let Err(error) = allow_most() {
        warn!(%error, "Connections may be too many: the limit of open files cannot be raised");
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_was_started_with_few_files_may_open_as_many_as_the_kernel_allows() {
        const CHILD: &str = "ANTREA_TEST_FEW_FILES";
        let limits = || getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        if std::env::var_os(CHILD).is_some() {
            setrlimit(Resource::RLIMIT_NOFILE, 64, limits().1).unwrap();
            allow_most().unwrap();
            let (now, most) = limits();
            assert!(now == most && most > 64, "{now} of {most}");
            return;
        }
        // In a process of its own, as other tests open files meanwhile.
        let name = "open_files::tests::a_process_that_was_started_with_few_files_may_open_as_many_as_the_kernel_allows";
        let child =
            Command::new(std::env::current_exe().unwrap()).args(["--exact", name]).env(CHILD, "").status();
        assert!(child.unwrap().success());
    }
}
