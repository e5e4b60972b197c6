//! The virtual machine: QEMU, and beside it virtiofsd, which hands it the files of this machine. Both end with us.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::kernel::Kernel;
use crate::command::{KilledOnDrop, command};
use crate::{processes, wait};

/// Of QEMU 7, as Debian 12 has it.
pub(super) const VIRTIOFSD: &str = "/usr/lib/qemu/virtiofsd";

const PROCESSORS: &str = "2";

/// Without KVM: machines that are virtual themselves seldom have one that starts kernels. And without cmpxchg16b, which
/// QEMU 7.2 gets wrong at times: kernels then die of a double fault.
const ACCELERATION: [&str; 4] = ["-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max,-cx16"];

/// A fault of the kernel is the end of the guest, and not the beginning of a long silence; so is a processor that has not
/// left the kernel for two minutes, and the console says where it is. Control groups are those of machines of today:
/// cgroup v2 alone. Its clock is QEMU's and not the processor's counter, whose rate a kernel that is emulated measures once,
/// in a few milliseconds, and may get wrong: a guest whose clock was 25 times as fast had every wait of its tests expire.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=-1 oops=panic softlockup_panic=1 watchdog_thresh=60 \
     mitigations=off clocksource=hpet tsc=unstable no_timer_check random.trust_cpu=on cgroup_no_v1=all";

/// The memory of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mebibytes(pub u32);

/// A running virtual machine.
pub(super) struct Machine {
    qemu: Option<KilledOnDrop>,
    /// After the guest whose files it serves.
    _virtiofsd: KilledOnDrop,
}

/// What the machine starts from, and where it tells what.
pub(super) struct Files {
    pub(super) initramfs: PathBuf,
    pub(super) socket: PathBuf,
    /// What QEMU and virtiofsd say.
    pub(super) log: PathBuf,
    /// What the guest's kernel says.
    pub(super) console: PathBuf,
}

impl Machine {
    pub(super) fn start(kernel: &Kernel, memory: Mebibytes, files: &Files) -> Result<Self> {
        let log =
            File::create(&files.log).with_context(|| format!("cannot write {}", files.log.display()))?;
        let socket = format!("--socket-path={}", files.socket.display());
        let source = "source=/,cache=always,no_posix_lock,xattr";
        let mut daemon = ending_with_us(VIRTIOFSD);
        daemon.args([&socket, "-o", source, "-o", "sandbox=chroot"]);
        let mut machine = Self { qemu: None, _virtiofsd: spawn(&mut daemon, &log)? };
        wait::until(Duration::from_secs(30), "the socket of virtiofsd", || Ok(files.socket.exists()))?;
        let qemu = spawn(&mut qemu(&kernel.image(), memory, files), &log)?;
        let process = i32::try_from(qemu.id()).context("the process id of QEMU is out of range")?;
        machine.qemu = Some(qemu);
        wait::until(Duration::from_secs(10), "QEMU to lead a session", || {
            Ok(processes::leads_session(process))
        })?;
        // Beside labs, whose Nodes are preferred as well, it would have next to nothing.
        processes::prefer_session(process)?;
        Ok(machine)
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.qemu.as_mut().map_or(Ok(None), |qemu| qemu.try_wait()).context("cannot wait for QEMU")
    }
}

fn qemu(kernel: &Path, memory: Mebibytes, files: &Files) -> Command {
    let memory = format!("{}M", memory.0);
    let mut qemu = ending_with_us("qemu-system-x86_64");
    qemu.args(["-M", "q35", "-smp", PROCESSORS, "-m", &memory]).args(ACCELERATION);
    qemu.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    qemu.args(["-device", "virtio-rng-pci"]);
    // virtiofsd reads and writes in the guest's memory.
    qemu.args(["-object", &format!("memory-backend-memfd,id=memory,size={memory},share=on")]);
    qemu.args(["-numa", "node,memdev=memory"]);
    qemu.args(["-chardev", &format!("socket,id=root,path={}", files.socket.display())]);
    qemu.args(["-device", "vhost-user-fs-pci,chardev=root,tag=root"]);
    qemu.args(["-serial", &format!("file:{}", files.console.display())]);
    qemu.arg("-kernel").arg(kernel).arg("-initrd").arg(&files.initramfs);
    qemu.args(["-append", KERNEL_ARGUMENTS]);
    qemu
}

/// A program in a session of its own that is killed when this process ends, however it does.
fn ending_with_us(program: &str) -> Command {
    command("setsid", &["setpriv", "--pdeathsig", "KILL", program])
}

fn spawn(command: &mut Command, log: &File) -> Result<KilledOnDrop> {
    let copy = || log.try_clone().context("cannot write the log of the virtual machine");
    KilledOnDrop::spawn(command.stdin(Stdio::null()).stdout(copy()?).stderr(copy()?))
}
