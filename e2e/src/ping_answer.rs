//! What `ping -D` of iputils prints for an answer.

use std::time::Duration;

/// An answer: when it came since 1970, and the number in the packet, which begins anew after 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PingAnswer {
    /// When it came.
    pub at: Duration,
    /// Which request it answers.
    pub number: u16,
}

impl PingAnswer {
    /// Reads `[1795285976.870728] 64 bytes from 10.11.1.3: icmp_seq=2 ttl=62 time=1.98 ms`; no other line is an answer.
    pub fn read(line: &str) -> Option<Self> {
        let (time, rest) = line.strip_prefix('[')?.split_once(']')?;
        let (seconds, microseconds) = time.split_once('.')?;
        let at =
            Duration::from_secs(seconds.parse().ok()?) + Duration::from_micros(microseconds.parse().ok()?);
        let number = rest.split_once(" bytes from ")?.1.split_once("icmp_seq=")?.1.split(' ').next()?;
        Some(Self { at, number: number.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_nothing_else() {
        let line = "[1795285976.870728] 64 bytes from 10.11.1.3: icmp_seq=2 ttl=62 time=1.98 ms";
        let at = Duration::from_micros(1_795_285_976_870_728);
        assert_eq!(PingAnswer::read(line), Some(PingAnswer { at, number: 2 }));
        for other in [
            "PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.",
            "[1795285976.870728] From 10.11.1.1 icmp_seq=2 Destination Host Unreachable",
            "64 bytes from 10.11.1.3: icmp_seq=2 ttl=62 time=1.98 ms",
            "",
        ] {
            assert_eq!(PingAnswer::read(other), None, "{other}");
        }
    }
}
