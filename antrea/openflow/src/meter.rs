//! Meters: limits of packet or byte rates.

use std::fmt;

use crate::MeterId;

/// A meter, as it is wanted or as it is on the bridge. OVS has bands that drop.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Meter {
    /// Its number, from 1.
    pub id: MeterId,
    /// What it counts, and how.
    pub flags: MeterFlags,
    /// Its limits.
    pub bands: Vec<Band>,
}

/// Flags of a meter (OpenFlow 1.5 §7.3.4.4, `OFPMF_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MeterFlags(u16);

impl MeterFlags {
    /// Rates in kilobits a second, bursts in kilobits.
    pub const KBPS: Self = Self(1);
    /// Rates in packets a second, bursts in packets.
    pub const PKTPS: Self = Self(1 << 1);
    /// Bursts count.
    pub const BURST: Self = Self(1 << 2);
    /// Statistics are kept.
    pub const STATS: Self = Self(1 << 3);

    const WORDS: [(Self, &'static str); 4] =
        [(Self::KBPS, "kbps"), (Self::PKTPS, "pktps"), (Self::BURST, "burst"), (Self::STATS, "stats")];

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits on the wire.
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    /// From the bits on the wire.
    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
}

/// A limit beyond which packets are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Band {
    /// The rate, in the unit of the meter.
    pub rate: u32,
    /// How much may go at once, in the unit of the meter without the second.
    pub burst: u32,
}

/// A change to a meter (OpenFlow 1.5 §7.3.4.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeterMod {
    /// Adds a meter; an error if it is there.
    Add(Meter),
    /// Replaces a meter; an error if it is not there.
    Modify(Meter),
    /// Deletes a meter, or all with [`MeterId::ALL`], and the flows that use it.
    Delete(MeterId),
}

/// As `ovs-ofctl dump-meters` prints it, in two lines.
impl fmt::Display for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "meter={} ", self.id)?;
        MeterFlags::WORDS
            .iter()
            .filter(|(flag, _)| self.flags.has(*flag))
            .try_for_each(|(_, word)| write!(f, "{word} "))?;
        f.write_str("bands=")?;
        for band in &self.bands {
            write!(f, "\ntype=drop rate={}", band.rate)?;
            if self.flags.has(MeterFlags::BURST) {
                write!(f, " burst_size={}", band.burst)?;
            }
        }
        Ok(())
    }
}
