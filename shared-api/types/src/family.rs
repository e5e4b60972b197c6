//! IP families, and values that a Node has one of for each.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum IpFamily {
    /// Version 4.
    #[serde(rename = "IPv4")]
    V4,
    /// Version 6.
    #[serde(rename = "IPv6")]
    V6,
}

impl IpFamily {
    /// Both, in the order in which everything is done and printed.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// The family of an address.
    pub const fn of(address: &IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// The family of a network.
    pub const fn of_net(net: &IpNet) -> Self {
        match net {
            IpNet::V4(_) => Self::V4,
            IpNet::V6(_) => Self::V6,
        }
    }
}

impl fmt::Display for IpFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

/// At most one value for each IP family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DualStack<T> {
    /// The value for IPv4.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub v4: Option<T>,
    /// The value for IPv6.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub v6: Option<T>,
}

impl<T> Default for DualStack<T> {
    fn default() -> Self {
        Self { v4: None, v6: None }
    }
}

impl<T> DualStack<T> {
    /// The value for `family`.
    pub const fn get(&self, family: IpFamily) -> Option<&T> {
        match family {
            IpFamily::V4 => self.v4.as_ref(),
            IpFamily::V6 => self.v6.as_ref(),
        }
    }

    /// Sets the value for `family`, and returns what stood there.
    pub fn insert(&mut self, family: IpFamily, value: T) -> Option<T> {
        match family {
            IpFamily::V4 => self.v4.replace(value),
            IpFamily::V6 => self.v6.replace(value),
        }
    }

    /// The values that are there, IPv4 first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.v4.iter().chain(self.v6.iter())
    }

    /// The families that have a value, IPv4 first.
    pub fn families(&self) -> impl Iterator<Item = IpFamily> {
        IpFamily::ALL.into_iter().filter(|family| self.get(*family).is_some())
    }

    /// Each value turned into another.
    pub fn map<U>(self, mut convert: impl FnMut(T) -> U) -> DualStack<U> {
        DualStack { v4: self.v4.map(&mut convert), v6: self.v6.map(&mut convert) }
    }

    /// Whether neither family has a value.
    pub const fn is_empty(&self) -> bool {
        self.v4.is_none() && self.v6.is_none()
    }
}

/// The first address of each family.
impl FromIterator<IpAddr> for DualStack<IpAddr> {
    fn from_iter<I: IntoIterator<Item = IpAddr>>(addresses: I) -> Self {
        first_of_each(addresses, IpFamily::of)
    }
}

/// The first network of each family.
impl FromIterator<IpNet> for DualStack<IpNet> {
    fn from_iter<I: IntoIterator<Item = IpNet>>(nets: I) -> Self {
        first_of_each(nets, IpFamily::of_net)
    }
}

fn first_of_each<T>(values: impl IntoIterator<Item = T>, family_of: impl Fn(&T) -> IpFamily) -> DualStack<T> {
    let mut first = DualStack::default();
    for value in values {
        let family = family_of(&value);
        if first.get(family).is_none() {
            first.insert(family, value);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_of_each_family_counts() {
        let addresses = ["fd00::1", "10.0.0.1", "10.0.0.2"].map(|text| text.parse::<IpAddr>().unwrap());
        let first: DualStack<IpAddr> = addresses.into_iter().collect();
        assert_eq!(first.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.0.0.1", "fd00::1"]);
    }
}
