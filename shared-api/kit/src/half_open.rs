//! Connections whose handshake is under way: when there are too many, the oldest are given up, so that clients which
//! begin handshakes and never end them keep nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Handshakes that are under way, by the order in which they began.
#[derive(Debug)]
pub(crate) struct HalfOpen {
    most: usize,
    handshakes: Mutex<Handshakes>,
}

#[derive(Debug, Default)]
struct Handshakes {
    begun: u64,
    under_way: BTreeMap<u64, CancellationToken>,
}

/// A handshake that is under way until this is dropped.
#[derive(Debug)]
pub(crate) struct Handshake {
    all: Arc<HalfOpen>,
    number: u64,
    given_up: CancellationToken,
}

impl HalfOpen {
    pub(crate) fn at_most(most: usize) -> Arc<Self> {
        Arc::new(Self { most, handshakes: Mutex::default() })
    }

    /// A handshake begins.
    pub(crate) fn begin(self: &Arc<Self>) -> Handshake {
        let given_up = CancellationToken::new();
        let mut handshakes = self.lock();
        let number = handshakes.begun;
        handshakes.begun += 1;
        handshakes.under_way.insert(number, given_up.clone());
        if handshakes.under_way.len() > self.most
            && let Some((_, oldest)) = handshakes.under_way.pop_first()
        {
            oldest.cancel();
        }
        Handshake { all: Arc::clone(self), number, given_up }
    }

    fn lock(&self) -> MutexGuard<'_, Handshakes> {
        // Each critical section leaves the map whole, whatever panicked.
        self.handshakes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handshake {
    /// What comes of the handshake; nothing when it is given up.
    pub(crate) async fn run<T>(self, handshake: impl Future<Output = T>) -> Option<T> {
        let given_up = self.given_up.clone();
        tokio::select! {
            done = handshake => Some(done),
            () = given_up.cancelled_owned() => None,
        }
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.all.lock().under_way.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn the_oldest_handshakes_make_room_for_new_ones() {
        let half_open = HalfOpen::at_most(2);
        let [oldest, middle, newest] = [(); 3].map(|()| half_open.begin());
        assert_eq!(oldest.run(pending::<()>()).await, None);
        assert_eq!(middle.run(ready(1)).await, Some(1));
        assert_eq!(newest.run(ready(2)).await, Some(2));
        assert!(half_open.lock().under_way.is_empty());
    }
}
