//! Which connections a Pod that is gone has, and how the datapath gets rid of them.

use std::net::IpAddr;
use std::time::Duration;

use antrea_config::DatapathType;
use antrea_openflow::message::{CtFlush, CtTuple};
use antrea_openflow::protocol;
use antrea_pipeline::fields::{ct_zone, snat_ct_zone};
use antrea_types::IpFamily;

/// Those that are connections for the userspace datapath, beside echoes.
const WITHOUT_ECHOES: [u8; 3] = [protocol::TCP, protocol::UDP, protocol::SCTP];

/// Of every protocol.
const ALL: [u8; 1] = [0];

/// How the connections of ICMPv6 echo requests end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echoes {
    /// As all others.
    AreForgotten,
    /// By themselves, after they have seen no packet for this time: ovs-vswitchd aborts when it is to forget one of the userspace
    /// datapath (it takes the ICMPv6 type for one of ICMP, `tuple_to_conn_key` in lib/conntrack.c).
    RunOut(Duration),
}

impl Echoes {
    /// The userspace datapath keeps a request without an answer for 60 seconds, and one with an answer for 30
    /// (lib/conntrack-tp.c).
    pub(crate) const LONGEST: Duration = Duration::from_secs(61);

    pub(crate) fn of(datapath: DatapathType) -> Self {
        match datapath {
            DatapathType::System => Self::AreForgotten,
            DatapathType::Netdev => Self::RunOut(Self::LONGEST),
        }
    }

    /// How long nobody may get this address, nor be sent what is for it, after all else is forgotten.
    pub(super) fn rest_of(self, address: &IpAddr) -> Option<Duration> {
        match (self, IpFamily::of(address)) {
            (Self::RunOut(rest), IpFamily::V6) => Some(rest),
            (Self::RunOut(_), IpFamily::V4) | (Self::AreForgotten, _) => None,
        }
    }

    fn forgettable(self, address: &IpAddr) -> &'static [u8] {
        if self.rest_of(address).is_some() { &WITHOUT_ECHOES } else { &ALL }
    }
}

/// What the Pod began, and what others began with it, through a Service or not. Its address is in no other place: a destination
/// is translated before it is a Pod's, a source to what is none.
pub(super) fn connections_of(address: IpAddr, echoes: Echoes) -> impl Iterator<Item = CtFlush> {
    let family = IpFamily::of(&address);
    let from = CtTuple { source: Some(address), ..CtTuple::default() };
    let of_zone = move |zone| {
        echoes.forgettable(&address).iter().flat_map(move |protocol| {
            let all = CtFlush { zone, protocol: *protocol, ..CtFlush::default() };
            [CtFlush { original: from, ..all }, CtFlush { reply: from, ..all }]
        })
    };
    [ct_zone(family), snat_ct_zone(family)].into_iter().flat_map(of_zone)
}
