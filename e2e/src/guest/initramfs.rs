//! The archive that the guest's kernel starts from: busybox, the modules that it takes to reach the machine's files,
//! and the script that does.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::kernel::Kernel;

const INIT: &str = include_str!("init.sh");
const BUSYBOX: &str = "/usr/bin/busybox";

/// What virtiofs and overlayfs need beside each other; modprobe knows in which order.
const MODULES: [&str; 4] = ["virtio_pci", "virtiofs", "overlay", "virtio_rng"];

const FOLDERS: [&str; 9] = ["bin", "proc", "sys", "dev", "modules", "machine", "changes", "new", "run"];

/// Modes with the kind of the file in front: `S_IFDIR`, `S_IFREG`.
const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;

/// The archive; `folder` is the one of the machine that the guest may write to.
pub(super) fn build(kernel: &Kernel, folder: &Path) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for name in FOLDERS {
        archive.add(name, FOLDER, &[]);
    }
    archive.add("bin/busybox", PROGRAM, &read(Path::new(BUSYBOX))?);
    archive.add("init", PROGRAM, INIT.as_bytes());
    archive.add("folder", FILE, folder.display().to_string().as_bytes());
    archive.add("kernel", FILE, kernel.folder().display().to_string().as_bytes());
    for (number, module) in kernel.modules(&MODULES)?.iter().enumerate() {
        archive.add(&format!("modules/{number:02}.ko"), FILE, &read(module)?);
    }
    Ok(archive.finish())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A cpio archive in the format `newc` (Linux, Documentation/driver-api/early-userspace/buffer-format.rst).
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    fn add(&mut self, name: &str, mode: u32, contents: &[u8]) {
        self.entries += 1;
        let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        // Inode, mode, owner, group, links, time, size, two device numbers of the file and two that it is, name, checksum.
        let fields =
            [self.entries, mode, 0, 0, 1, 0, length(contents.len()), 0, 0, 0, 0, length(name.len() + 1), 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_begins_with_its_first_entry_and_ends_with_the_trailer() {
        let mut archive = Archive::default();
        archive.add("a", FILE, b"xyz");
        let bytes = archive.finish();
        let header = "070701 00000001 000081a4 00000000 00000000 00000001 00000000 00000003 00000000 00000000 \
                      00000000 00000000 00000002 00000000";
        assert_eq!(&bytes[..110], header.replace(' ', "").as_bytes());
        // The header of 110 bytes and the name, then the contents, each up to a multiple of four.
        assert_eq!(&bytes[110..116], b"a\0xyz\0");
        assert_eq!(bytes.len(), 116 + 124);
        assert_eq!(&bytes[116 + 110..], b"TRAILER!!!\0\0\0\0");
    }
}
