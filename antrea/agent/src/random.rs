//! Random MAC addresses.

use std::fs::File;
use std::io::Read;

use antrea_types::MacAddr;
use anyhow::{Context, Result};

/// A locally administered unicast address that nobody else has.
pub(crate) fn mac_address() -> Result<MacAddr> {
    let mut octets = [0; 6];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut octets))
        .context("cannot read /dev/urandom")?;
    Ok(MacAddr::local_unicast(octets))
}
