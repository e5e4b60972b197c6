//! Has the kernel load Open vSwitch's module before anything is installed.
//!
//! The module serves a family of generic netlink. Whoever asks the kernel for a family that it lacks has it load the
//! module of that name, by the modprobe of the Node: no right of ours is needed for that, nor the Node's files.

use std::os::fd::AsRawFd;

use anyhow::{Context, Result, bail, ensure};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

/// The family of the module's datapaths (`OVS_DATAPATH_FAMILY` in linux/openvswitch.h).
const OVS_DATAPATH: &str = "ovs_datapath";

/// linux/netlink.h: the length of a message's header, the answer that is an error, and what asks for an answer.
const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;

/// linux/genetlink.h: the family that knows of families, the question for one, and the attribute with its name.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

/// Which datapath Open vSwitch is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Datapath {
    /// The kernel's.
    System,
    /// That of ovs-vswitchd itself.
    Netdev,
}

/// What the kernel answers.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Family,
    /// It has no such family, nor a module that would.
    Unknown,
}

impl Datapath {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        match text {
            "system" => Ok(Self::System),
            "netdev" => Ok(Self::Netdev),
            _ => bail!("--datapath {text:?} is not one of Open vSwitch's: system and netdev are"),
        }
    }

    /// Returns once the kernel has what the datapath needs of it.
    pub(crate) fn load(self) -> Result<()> {
        match self {
            Self::Netdev => Ok(()),
            Self::System => require(OVS_DATAPATH),
        }
    }
}

fn require(family: &str) -> Result<()> {
    let answer = ask(family).with_context(|| format!("cannot ask the kernel for {family}"))?;
    ensure!(
        answer == Answer::Family,
        "the Node's kernel has no {family}, and no module openvswitch that it can load: see what `modprobe openvswitch` \
         says on the Node, or set ovs.datapathType to netdev"
    );
    Ok(())
}

/// Waits for the module's loading, which ends before the kernel answers.
fn ask(family: &str) -> Result<Answer> {
    let kind = (AddressFamily::Netlink, SockType::Raw, SockProtocol::NetlinkGeneric);
    let socket = socket(kind.0, kind.1, SockFlag::SOCK_CLOEXEC, kind.2).context("generic netlink")?;
    send(socket.as_raw_fd(), &request(family), MsgFlags::empty()).context("cannot send")?;
    let mut buffer = [0; 4096];
    let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()).context("cannot receive")?;
    parse(buffer.get(..length).unwrap_or_default())
}

/// The question for a family of this name. Numbers of netlink are in the byte order of the machine.
fn request(family: &str) -> Vec<u8> {
    let name = [family.as_bytes(), &[0]].concat();
    let attribute = u16::try_from(4 + name.len()).unwrap_or(u16::MAX);
    let body = [
        [CTRL_CMD_GETFAMILY, 1, 0, 0].as_slice(),
        &attribute.to_ne_bytes(),
        &CTRL_ATTR_FAMILY_NAME.to_ne_bytes(),
        &name,
    ]
    .concat();
    let padded = body.len().next_multiple_of(4);
    let length = u32::try_from(HEADER + padded).unwrap_or(u32::MAX);
    let mut message = [
        length.to_ne_bytes().as_slice(),
        &GENL_ID_CTRL.to_ne_bytes(),
        &NLM_F_REQUEST.to_ne_bytes(),
        // The first message to the kernel, from whichever port it gives us.
        &1_u32.to_ne_bytes(),
        &0_u32.to_ne_bytes(),
        &body,
    ]
    .concat();
    message.resize(HEADER + padded, 0);
    message
}

fn parse(message: &[u8]) -> Result<Answer> {
    let kind = message.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    match kind.context("the answer is too short")? {
        GENL_ID_CTRL => Ok(Answer::Family),
        NLMSG_ERROR => {
            let code = message.get(HEADER..HEADER + 4).and_then(|bytes| bytes.try_into().ok());
            match Errno::from_raw(-i32::from_ne_bytes(code.context("the error is too short")?)) {
                Errno::ENOENT => Ok(Answer::Unknown),
                errno => Err(errno.into()),
            }
        }
        other => bail!("an answer of type {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_that_every_kernel_has_is_found() {
        assert_eq!(ask("nlctrl").unwrap(), Answer::Family);
    }

    #[test]
    fn a_family_that_no_kernel_has_is_told_with_what_to_do() {
        let error = require("antrea_none").unwrap_err().to_string();
        let expected = "the Node's kernel has no antrea_none, and no module openvswitch that it can load: ";
        assert!(error.starts_with(expected), "{error}");
        assert!(error.contains("`modprobe openvswitch`") && error.contains("ovs.datapathType"), "{error}");
    }

    #[test]
    fn the_userspace_datapath_needs_nothing_of_the_kernel() {
        assert!(Datapath::Netdev.load().is_ok());
        assert!(Datapath::parse("kernel").unwrap_err().to_string().contains("system and netdev are"));
    }

    #[test]
    fn answers_are_understood_and_damaged_ones_are_errors() {
        let error = |code: i32| {
            let head = [36_u32.to_ne_bytes().as_slice(), &NLMSG_ERROR.to_ne_bytes(), &[0; 10]].concat();
            [head.as_slice(), &code.to_ne_bytes(), &[0; 16]].concat()
        };
        assert_eq!(parse(&error(-2)).unwrap(), Answer::Unknown);
        assert_eq!(parse(&error(-1)).unwrap_err().to_string(), Errno::EPERM.to_string());
        for length in 0..20 {
            assert!(parse(&error(-2)[..length]).is_err(), "{length} bytes");
        }
        assert_eq!(parse(&[0; 20]).unwrap_err().to_string(), "an answer of type 0");
    }
}
