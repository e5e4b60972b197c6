//! Components that run while something stays as it is, and begin anew when it changes.

use std::time::Duration;

use antrea_kit::components::Components;
use anyhow::Result;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long the components have to end. The next ones wait for them; a Lease that was lost is another's 5 s later.
const GRACE: Duration = Duration::from_secs(4);

/// Runs the components that `start` makes of the value, if any, until `stop`. When the value changes they are told to
/// end, and those of the new one begin.
///
/// # Errors
/// A component that ended by itself, or not in time.
pub(crate) async fn follow<T: Clone + PartialEq>(
    mut values: watch::Receiver<T>,
    start: impl Fn(&T) -> Option<Components>,
    stop: CancellationToken,
) -> Result<()> {
    while !stop.is_cancelled() {
        let value = values.borrow_and_update().clone();
        let components = start(&value);
        let over = stop.run_until_cancelled(changed(&mut values, &value));
        match components {
            Some(components) => components.run_until(over, GRACE).await?,
            None => drop(over.await),
        }
    }
    Ok(())
}

/// Resolves when the value is another; never when nobody is left to change it.
async fn changed<T: PartialEq>(values: &mut watch::Receiver<T>, value: &T) {
    if values.wait_for(|now| now != value).await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    type Log = Arc<Mutex<Vec<String>>>;

    /// Follows what `change` sends; gives what began and ended.
    async fn check(change: impl AsyncFnOnce(watch::Sender<u8>)) -> Vec<String> {
        let (sender, receiver) = watch::channel(0);
        let (log, stop) = (Log::default(), CancellationToken::new());
        let start = {
            let log = Arc::clone(&log);
            move |value: &u8| {
                let (log, value) = (Arc::clone(&log), *value);
                if value == 0 {
                    return None;
                }
                let mut components = Components::new();
                components.add("one", move |stop| async move {
                    log.lock().unwrap().push(format!("+{value}"));
                    stop.cancelled().await;
                    log.lock().unwrap().push(format!("-{value}"));
                    Ok(())
                });
                Some(components)
            }
        };
        let following = tokio::spawn(follow(receiver, start, stop.clone()));
        change(sender).await;
        stop.cancel();
        following.await.unwrap().unwrap();
        Arc::into_inner(log).unwrap().into_inner().unwrap()
    }

    async fn settle() {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn another_value_ends_the_components_of_the_last_and_begins_its_own() {
        let log = check(async |sender| {
            for value in [1, 1, 2, 0] {
                sender.send_replace(value);
                settle().await;
            }
        });
        assert_eq!(log.await, ["+1", "-1", "+2", "-2"]);
    }

    #[tokio::test]
    async fn a_value_that_nobody_can_change_any_more_stays() {
        let log = check(async |sender| {
            sender.send_replace(1);
            drop(sender);
            settle().await;
        });
        assert_eq!(log.await, ["+1", "-1"]);
    }
}
