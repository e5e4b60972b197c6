//! Checksum offload of transmitted packets, by the ioctl of ethtool(8).

use std::ffi::c_char;
use std::io;
use std::os::fd::AsRawFd;

use antrea_types::InterfaceName;
use nix::libc;
use socket2::Socket;

/// linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;
/// linux/ethtool.h: whether transmitted packets are checksummed by the device.
const ETHTOOL_GTXCSUM: u32 = 0x16;
/// linux/ethtool.h: sets the same, together with all that depends on it, such as segmentation offload.
const ETHTOOL_STXCSUM: u32 = 0x17;

/// Who computes the checksums of packets that leave by an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxChecksumOffload {
    /// The device, or whoever takes the packet next.
    On,
    /// The kernel, before the packet reaches the device.
    Off,
}

/// Checksum offload cannot be asked for or set.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} TX checksum offload of {interface}")]
pub struct EthtoolError {
    operation: &'static str,
    interface: InterfaceName,
    #[source]
    source: io::Error,
}

/// struct ethtool_value of linux/ethtool.h.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Sets who computes checksums, for an interface in the namespace that `socket` (of any kind) was opened in. The same
/// as `ethtool -K INTERFACE tx on|off`.
///
/// # Errors
/// There is no such interface, or its driver cannot change this.
pub fn set_tx_checksum_offload(
    socket: &Socket,
    interface: &InterfaceName,
    offload: TxChecksumOffload,
) -> Result<(), EthtoolError> {
    let data = match offload {
        TxChecksumOffload::On => 1,
        TxChecksumOffload::Off => 0,
    };
    let mut value = EthtoolValue { command: ETHTOOL_STXCSUM, data };
    request(socket, interface, &mut value).map_err(|source| EthtoolError {
        operation: "set",
        interface: interface.clone(),
        source,
    })
}

/// Asks who computes checksums, for an interface in the namespace that `socket` was opened in.
///
/// # Errors
/// There is no such interface.
pub fn tx_checksum_offload(
    socket: &Socket,
    interface: &InterfaceName,
) -> Result<TxChecksumOffload, EthtoolError> {
    let mut value = EthtoolValue { command: ETHTOOL_GTXCSUM, data: 0 };
    request(socket, interface, &mut value).map_err(|source| EthtoolError {
        operation: "ask for",
        interface: interface.clone(),
        source,
    })?;
    Ok(if value.data == 0 { TxChecksumOffload::Off } else { TxChecksumOffload::On })
}

#[allow(unsafe_code, reason = "there is no safe wrapper of this ioctl")]
fn request(socket: &Socket, interface: &InterfaceName, value: &mut EthtoolValue) -> io::Result<()> {
    let mut name = [0; libc::IFNAMSIZ];
    for (to, from) in name.iter_mut().zip(interface.as_str().bytes()) {
        *to = c_char::from_ne_bytes([from]);
    }
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: std::ptr::from_mut(value).cast() },
    };
    // SAFETY: `request` and the value that it points to outlive the call; the kernel reads and writes no more than a
    // struct ethtool_value there for these two commands. Names of interfaces are 15 bytes at most, so a zero ends it.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
