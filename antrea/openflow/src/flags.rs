//! Connection-tracking states and TCP flags, which a match demands set or unset.

use std::fmt;

/// Flags of which some are demanded set, some unset, and the others do not matter.
trait FlagNames {
    /// Names by bit, the least significant first.
    const NAMES: &'static [&'static str];
}

macro_rules! flag_match {
    ($(#[$documentation:meta])* $name:ident($inner:ty) { $($(#[$doc:meta])* $flag:ident = $bit:literal $text:literal;)* }) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name {
            value: $inner,
            mask: $inner,
        }

        impl $name {
            $($(#[$doc])* pub const $flag: $inner = 1 << $bit;)*

            /// Nothing demanded.
            pub const fn new() -> Self {
                Self { value: 0, mask: 0 }
            }

            /// Demands these flags set.
            pub const fn set(self, flags: $inner) -> Self {
                Self { value: self.value | flags, mask: self.mask | flags }
            }

            /// Demands these flags unset.
            pub const fn unset(self, flags: $inner) -> Self {
                Self { value: self.value & !flags, mask: self.mask | flags }
            }

            /// The flags that have to be set.
            pub const fn value(self) -> $inner {
                self.value
            }

            /// The flags that matter.
            pub const fn mask(self) -> $inner {
                self.mask
            }
        }

        impl FlagNames for $name {
            const NAMES: &'static [&'static str] = &[$($text),*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_flags::<Self>(f, self.value.into(), self.mask.into())
            }
        }
    };
}

flag_match! {
    /// States of a connection, as `ct()` leaves them (`ovs-fields(7)`, `ct_state`).
    CtState(u32) {
        /// Not yet committed.
        NEW = 0 "new";
        /// Committed before.
        EST = 1 "est";
        /// Related to a committed one.
        REL = 2 "rel";
        /// In the direction of replies.
        RPL = 3 "rpl";
        /// Could not be tracked.
        INV = 4 "inv";
        /// Has been through `ct()`.
        TRK = 5 "trk";
        /// Source was translated.
        SNAT = 6 "snat";
        /// Destination was translated.
        DNAT = 7 "dnat";
    }
}

flag_match! {
    /// Flags of a TCP segment (RFC 9293 §3.1).
    TcpFlags(u16) {
        /// No more data.
        FIN = 0 "fin";
        /// Opens a connection.
        SYN = 1 "syn";
        /// Resets a connection.
        RST = 2 "rst";
        /// Push.
        PSH = 3 "psh";
        /// Acknowledges.
        ACK = 4 "ack";
        /// Urgent.
        URG = 5 "urg";
        /// ECN echo (RFC 3168).
        ECE = 6 "ece";
        /// Congestion window reduced (RFC 3168).
        CWR = 7 "cwr";
        /// Nonce sum (RFC 3540).
        NS = 8 "ns";
    }
}

fn write_flags<T: FlagNames>(f: &mut fmt::Formatter<'_>, value: u32, mask: u32) -> fmt::Result {
    for (bit, name) in T::NAMES.iter().enumerate() {
        if mask >> bit & 1 == 1 {
            let sign = if value >> bit & 1 == 1 { '+' } else { '-' };
            write!(f, "{sign}{name}")?;
        }
    }
    Ok(())
}

/// Writes a field of flags: `+new-est`, or hexadecimal where bits without a name matter.
pub(crate) fn write_state(f: &mut fmt::Formatter<'_>, value: u128, mask: u128) -> fmt::Result {
    write_or_hexadecimal::<CtState>(f, value, mask)
}

/// As [`write_state`], for TCP.
pub(crate) fn write_tcp_flags(f: &mut fmt::Formatter<'_>, value: u128, mask: u128) -> fmt::Result {
    write_or_hexadecimal::<TcpFlags>(f, value, mask)
}

fn write_or_hexadecimal<T: FlagNames>(f: &mut fmt::Formatter<'_>, value: u128, mask: u128) -> fmt::Result {
    match (u32::try_from(value), u32::try_from(mask)) {
        (Ok(value), Ok(mask)) if mask >> T::NAMES.len() == 0 => write_flags::<T>(f, value, mask),
        _ => write!(f, "{value:#x}/{mask:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_print_in_the_order_of_their_bits() {
        let state = CtState::new().set(CtState::TRK | CtState::RPL).unset(CtState::NEW);
        assert_eq!(state.to_string(), "-new+rpl+trk");
    }
}
