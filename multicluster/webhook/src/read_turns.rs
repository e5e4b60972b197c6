//! Turns at reading what is large: a few at once, of which one source has a share, and in that no user more than its turn.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// How many have a turn at the same time.
const AT_ONCE: usize = 8;
/// How many of these have the same source.
const OF_ONE_SOURCE: usize = 2;
/// How many of these are of the same user, or wait for the share of the source. All reviews come from the addresses of API
/// servers: a user who has more of them waits for its own, and not in the way of others.
const OF_ONE_USER: usize = 2;
/// What stands before the name of the user, who comes before the object in a review. A name that somebody makes up gains
/// nothing beyond the share of its source.
const BEFORE_USER: &[u8] = br#""userInfo":{"username":""#;
/// The most bytes of a name by which users are told apart.
const LONGEST_USER: usize = 320;

/// Who asks, as far as it is known. Unlike those of connections, sources are single addresses also with IPv6: the Pods of a
/// Node, and the Node itself as its Pods see it, are in one /64, and are not to share.
type Source = Option<IpAddr>;

/// Who may read now.
#[derive(Debug)]
pub(crate) struct ReadTurns {
    all: Semaphore,
    /// Those of sources that have a turn or wait for one.
    shares: Shares<Source>,
    /// Those of their users.
    users: Shares<(Source, Vec<u8>)>,
}

type Shares<K> = Mutex<BTreeMap<K, Arc<Semaphore>>>;

/// A turn, which ends when this is dropped. The semaphores are never closed, and so all permits are there.
#[derive(Debug)]
pub(crate) struct ReadTurn<'a> {
    _of_all: Option<SemaphorePermit<'a>>,
    _of_source: Option<OwnedSemaphorePermit>,
    _of_user: Option<OwnedSemaphorePermit>,
}

impl ReadTurns {
    pub(crate) const fn new() -> Self {
        Self {
            all: Semaphore::const_new(AT_ONCE),
            shares: Mutex::new(BTreeMap::new()),
            users: Mutex::new(BTreeMap::new()),
        }
    }

    /// Waits for a turn. Whoever waits for a share does not yet queue for a turn of all: before anybody's turn there are at
    /// most two of each other source, and of each other user of its own.
    pub(crate) async fn take(&self, source: Source, user: Vec<u8>) -> ReadTurn<'_> {
        let of_user = share(&self.users, (source, user), OF_ONE_USER).acquire_owned().await.ok();
        let of_source = share(&self.shares, source, OF_ONE_SOURCE).acquire_owned().await.ok();
        let of_all = self.all.acquire().await.ok();
        ReadTurn { _of_all: of_all, _of_source: of_source, _of_user: of_user }
    }
}

fn share<K: Ord>(shares: &Shares<K>, key: K, turns: usize) -> Arc<Semaphore> {
    let mut shares = shares.lock().unwrap_or_else(PoisonError::into_inner);
    // Whoever has a turn or waits for one has a second reference, and gets it under this lock alone.
    shares.retain(|_, share| Arc::strong_count(share) > 1);
    let share = shares.entry(key).or_insert_with(|| Arc::new(Semaphore::new(turns)));
    Arc::clone(share)
}

/// Who is said to ask in a review that begins so; nothing where that does not tell.
pub(crate) fn user_of(beginning: &[u8]) -> &[u8] {
    let at = beginning.windows(BEFORE_USER.len()).position(|part| part == BEFORE_USER);
    let rest = at.and_then(|at| beginning.get(at + BEFORE_USER.len()..)).unwrap_or_default();
    let name = rest.split(|byte| *byte == b'"').next().unwrap_or_default();
    name.get(..LONGEST_USER).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures::FutureExt;

    use super::*;

    fn host(number: u8) -> Source {
        Some(Ipv4Addr::new(10, 0, 0, number).into())
    }

    #[test]
    fn one_source_has_its_share_of_the_turns_at_most() {
        let turns = ReadTurns::new();
        let take = |number| turns.take(host(number), Vec::new()).now_or_never();
        let mut held: Vec<_> = [1, 1, 2, 2, 3, 3].map(|number| take(number).unwrap()).into();
        assert!(take(1).is_none(), "it has its share");
        held.extend([take(4).unwrap(), turns.take(None, Vec::new()).now_or_never().unwrap()]);
        assert!(take(5).is_none(), "all turns are taken");
        held.remove(0);
        assert!(take(5).is_some());
        assert!(take(1).is_some());
    }

    #[test]
    fn sources_that_are_done_are_forgotten() {
        let turns = ReadTurns::new();
        for number in 0..100 {
            assert!(turns.take(host(number), vec![number]).now_or_never().is_some());
        }
        assert_eq!(turns.shares.lock().unwrap().len(), 1);
        assert_eq!(turns.users.lock().unwrap().len(), 1);
    }

    #[test]
    fn large_reviews_of_one_user_delay_those_of_another_by_one_at_most() {
        let turns = ReadTurns::new();
        let take = |user: u8| Box::pin(turns.take(host(1), vec![user]));
        let mut held: Vec<_> = [1, 1].map(|user| take(user).now_or_never().unwrap()).into();
        let mut waiting: Vec<_> = (0..10).map(|_| take(1)).collect();
        assert!(waiting.iter_mut().all(|turn| turn.as_mut().now_or_never().is_none()));
        let mut other = take(2);
        assert!(other.as_mut().now_or_never().is_none(), "both turns of the address are taken");
        held.remove(0);
        assert!(other.as_mut().now_or_never().is_some());
    }

    #[test]
    fn a_review_tells_who_asks_before_it_tells_what() {
        let review = |user: &str| {
            format!(r#"{{"request":{{"uid":"1","userInfo":{{"username":"{user}","uid":"2"}},"object":{{"#)
        };
        assert_eq!(
            user_of(review("system:serviceaccount:mc:east-token").as_bytes()),
            b"system:serviceaccount:mc:east-token"
        );
        assert_eq!(user_of(review(&"a".repeat(1000)).as_bytes()).len(), LONGEST_USER);
        assert_eq!(user_of(b"   "), b"");
    }
}
