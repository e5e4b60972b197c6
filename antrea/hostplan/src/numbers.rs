//! The small numbers of rtnetlink(7): scopes, route protocols and routing tables, with the names that ip(8) prints.

use std::fmt;
use std::str::FromStr;

/// Text that is neither a known name nor a number that fits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {kind}: a name that `ip route` prints or a number is wanted")]
pub struct InvalidNumber {
    kind: &'static str,
    text: String,
}

macro_rules! named_number {
    ($(#[$documentation:meta])* $type:ident($number:ty), $kind:literal, { $($(#[$of_name:meta])* $name:ident = $value:literal $text:literal,)+ }) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $type(pub $number);

        impl $type {
            $($(#[$of_name])* pub const $name: Self = Self($value);)+
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Self::$name => f.write_str($text),)+
                    Self(number) => write!(f, "{number}"),
                }
            }
        }

        impl FromStr for $type {
            type Err = InvalidNumber;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$name),)+
                    other => other.parse().map(Self).map_err(|_| InvalidNumber { kind: $kind, text: text.to_owned() }),
                }
            }
        }
    };
}

named_number!(
    /// How far away a destination is (`rtm_scope`), or how far an address is valid (`ifa_scope`).
    Scope(u8), "scope", {
        /// Anywhere; the kernel says "universe".
        GLOBAL = 0 "global",
        /// Interior routes.
        SITE = 200 "site",
        /// On the attached link.
        LINK = 253 "link",
        /// On this Node.
        HOST = 254 "host",
    }
);

named_number!(
    /// Who made a route (`rtm_protocol`).
    RouteProtocol(u8), "route protocol", {
        /// The kernel, along with an address.
        KERNEL = 2 "kernel",
        /// Programs that do not say otherwise, Antrea's routes among them.
        BOOT = 3 "boot",
        /// The administrator.
        STATIC = 4 "static",
        /// IPv6 router advertisements.
        ROUTER_ADVERTISEMENT = 9 "ra",
        /// A DHCP client.
        DHCP = 16 "dhcp",
    }
);

named_number!(
    /// A routing table.
    RouteTable(u32), "routing table", {
        /// The table of ordinary routes.
        MAIN = 254 "main",
        /// The kernel's own table of local and broadcast addresses.
        LOCAL = 255 "local",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read_and_written_alike() {
        for text in ["global", "link", "host", "site", "7"] {
            assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
        }
        for text in ["kernel", "boot", "static", "ra", "dhcp", "186"] {
            assert_eq!(text.parse::<RouteProtocol>().unwrap().to_string(), text);
        }
        for text in ["main", "local", "101"] {
            assert_eq!(text.parse::<RouteTable>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_text_names_what_is_wanted() {
        assert_eq!(
            "far".parse::<Scope>().unwrap_err().to_string(),
            "\"far\" is not a scope: a name that `ip route` prints or a number is wanted"
        );
        assert!("256".parse::<RouteProtocol>().is_err());
    }
}
