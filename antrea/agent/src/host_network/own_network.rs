//! What the Node's kernel has of its own, as it was when it was last read.

use std::error::Error;

use antrea_hostplan::OwnNetwork;
use anyhow::{Context, Result};

/// The last one that could be read.
#[derive(Debug, Default)]
pub(super) struct LastRead(Option<OwnNetwork>);

impl LastRead {
    /// What is known, whatever became of this attempt to read it: an address that cannot be read is still the Node's.
    pub(super) const fn get(&self) -> Option<&OwnNetwork> {
        self.0.as_ref()
    }

    /// Takes what was read.
    ///
    /// # Errors
    /// When it could not be read; what was known holds.
    pub(super) fn note<E: Error + Send + Sync + 'static>(
        &mut self,
        read: Result<OwnNetwork, E>,
    ) -> Result<()> {
        self.0 = Some(read.context("cannot read the addresses and routes of this Node")?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn what_cannot_be_read_is_as_it_was() {
        let mut last = LastRead::default();
        let fails = || Err::<OwnNetwork, _>(io::Error::other("interrupted"));
        assert!(last.note(fails()).is_err());
        assert_eq!(last.get(), None);
        let own = OwnNetwork { addresses: ["172.18.0.11".parse().unwrap()].into(), ..OwnNetwork::default() };
        last.note(Ok::<_, io::Error>(own.clone())).unwrap();
        assert!(last.note(fails()).is_err());
        assert_eq!(last.get(), Some(&own));
    }
}
