//! Who has an address and port that several Services ask for.
//!
//! A ClusterIP is its Service's, whoever names it as an external IP; of others the oldest Service has it, so that nobody
//! can take traffic away from a Service that is there. The next one gets it when it goes.

use std::collections::{BTreeMap, BTreeSet};

use antrea_pipeline::service::Destination;
use antrea_types::Protocol;

use crate::service_name::ServiceName;

/// What is asked for.
pub(crate) type Claim = (Protocol, Destination);

/// How strong a claim is; the least is the strongest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// It is the Service's ClusterIP.
    ClusterIp,
    /// It is another address of the Service, which was created at that second.
    Other(i64),
}

/// The claims of all Services.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// Never empty.
    claims: BTreeMap<Claim, BTreeSet<(Rank, ServiceName)>>,
    of_service: BTreeMap<ServiceName, Vec<(Claim, Rank)>>,
}

impl Claims {
    /// Replaces the claims of a Service. Returns the other Services that gain or lose something by it.
    pub(crate) fn set(
        &mut self,
        service: &ServiceName,
        mut wanted: Vec<(Claim, Rank)>,
    ) -> BTreeSet<ServiceName> {
        wanted.sort_unstable();
        wanted.dedup_by(|later, earlier| later.0 == earlier.0);
        let old = self.of_service.get(service).map(Vec::as_slice).unwrap_or_default();
        if old == wanted.as_slice() {
            return BTreeSet::new();
        }
        let old = self.of_service.remove(service).unwrap_or_default();
        let mut affected = BTreeSet::new();
        for (claim, rank) in old {
            self.withdraw(&claim, rank, service);
            affected.extend(self.owner(&claim).cloned());
        }
        for (claim, rank) in &wanted {
            affected.extend(self.owner(claim).cloned());
            self.claims.entry(*claim).or_default().insert((rank.clone(), service.clone()));
        }
        if !wanted.is_empty() {
            wanted.shrink_to_fit();
            self.of_service.insert(service.clone(), wanted);
        }
        affected.remove(service);
        affected
    }

    /// Who has it.
    pub(crate) fn owner(&self, claim: &Claim) -> Option<&ServiceName> {
        let (_, service) = self.claims.get(claim)?.first()?;
        Some(service)
    }

    fn withdraw(&mut self, claim: &Claim, rank: Rank, service: &ServiceName) {
        let Some(claimants) = self.claims.get_mut(claim) else { return };
        claimants.remove(&(rank, service.clone()));
        if claimants.is_empty() {
            self.claims.remove(claim);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carries out lines such as `a = 192.0.2.1@5 10.96.0.1`, where what follows @ is an age and a ClusterIP has none;
    /// returns who is affected and who has each of the addresses then.
    #[track_caller]
    fn check(lines: &[(&str, &str)]) {
        let mut claims = Claims::default();
        for (line, expect) in lines {
            let (name, addresses) = line.split_once('=').unwrap();
            let claim = |text: &str| {
                let (address, rank) = match text.split_once('@') {
                    Some((address, age)) => (address, Rank::Other(age.parse().unwrap())),
                    None => (text, Rank::ClusterIp),
                };
                let destination = Destination::Address(format!("{address}:80").parse().unwrap());
                ((Protocol::Tcp, destination), rank)
            };
            let wanted = addresses.split_whitespace().map(claim).collect();
            let affected = claims.set(&ServiceName::new("ns", name.trim()), wanted);
            let owners = claims.claims.keys().map(|claim| claims.owner(claim).unwrap().name().to_owned());
            let affected: Vec<_> = affected.iter().map(|name| name.name().to_owned()).collect();
            let text = format!("{} | {}", affected.join(" "), owners.collect::<Vec<_>>().join(" "));
            assert_eq!(text.trim(), *expect, "{line}");
        }
    }

    #[test]
    fn the_oldest_service_has_an_address() {
        check(&[("young = 192.0.2.1@9", "| young"), ("old = 192.0.2.1@5", "young | old")]);
        check(&[("old = 192.0.2.1@5", "| old"), ("young = 192.0.2.1@9", "old | old")]);
    }

    #[test]
    fn the_next_one_gets_it_when_it_goes() {
        check(&[
            ("old = 192.0.2.1@5", "| old"),
            ("young = 192.0.2.1@9", "old | old"),
            ("old =", "young | young"),
            ("young =", "|"),
        ]);
    }

    #[test]
    fn nobody_takes_a_cluster_ip() {
        check(&[("thief = 10.96.0.1@1", "| thief"), ("dns = 10.96.0.1", "thief | dns")]);
    }

    #[test]
    fn the_same_claims_affect_nobody() {
        check(&[
            ("a = 192.0.2.1@5", "| a"),
            ("b = 192.0.2.1@9 192.0.2.2@9", "a | a b"),
            ("b = 192.0.2.2@9 192.0.2.1@9", "| a b"),
        ]);
    }
}
