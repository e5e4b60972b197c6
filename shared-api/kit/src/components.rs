//! The table of a process: named components, each a task, started in order and drained in the opposite order.
//!
//! A component runs until its token is cancelled. One that ends before is an error with its name: nothing of a
//! process may die quietly.

use std::future::Future;
use std::time::Duration;

use crate::logging::chain;
use futures::future::select_all;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info, info_span, warn};

/// Why a process ended that was not told to, or did not end as it was told.
#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    /// A component returned an error.
    #[error("component {name} failed")]
    Failed {
        /// The component.
        name: &'static str,
        /// What it said.
        #[source]
        source: anyhow::Error,
    },
    /// A component returned although it was not told to.
    #[error("component {name} ended by itself")]
    Ended {
        /// The component.
        name: &'static str,
    },
    /// A component panicked.
    #[error("component {name} panicked")]
    Panicked {
        /// The component.
        name: &'static str,
        /// The panic.
        #[source]
        source: JoinError,
    },
    /// A component was told to end and did not, so that it was aborted.
    #[error("component {name} did not end within the grace period of {grace:?}")]
    Stuck {
        /// The component.
        name: &'static str,
        /// The grace period of the whole process.
        grace: Duration,
    },
}

/// What a component's task came to.
type Outcome = Result<anyhow::Result<()>, JoinError>;

struct Component {
    name: &'static str,
    stop: CancellationToken,
    task: JoinHandle<anyhow::Result<()>>,
}

/// The components of a process.
#[derive(Default)]
pub struct Components {
    components: Vec<Component>,
}

impl Components {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a component. `run` gets the token that tells it to end; the span of its task has its name.
    pub fn add<F, Running>(&mut self, name: &'static str, run: F)
    where
        F: FnOnce(CancellationToken) -> Running,
        Running: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let stop = CancellationToken::new();
        let task = tokio::spawn(run(stop.clone()).instrument(info_span!("component", name)));
        self.components.push(Component { name, stop, task });
    }

    /// Runs until `signal` resolves, or until a component ends by itself. Then tells the components to end, the one
    /// started last first, each after the one before has ended, and all of them within `grace`.
    ///
    /// # Errors
    /// The first component that ended by itself; failing that, the first that ended badly when it was told to.
    pub async fn run_until<S>(
        mut self,
        signal: impl Future<Output = S>,
        grace: Duration,
    ) -> Result<(), ComponentError> {
        let ended = tokio::select! {
            _ = signal => {
                info!("Shutting down");
                Ok(())
            }
            error = self.first_end() => Err(error),
        };
        let drained = self.drain(grace).await;
        ended.and(drained)
    }

    /// Waits for a component to end by itself; for ever where there is none.
    async fn first_end(&mut self) -> ComponentError {
        if self.components.is_empty() {
            std::future::pending::<()>().await;
        }
        let (outcome, index, _) =
            select_all(self.components.iter_mut().map(|component| &mut component.task)).await;
        let Component { name, .. } = self.components.remove(index);
        failure(name, outcome).unwrap_or(ComponentError::Ended { name })
    }

    async fn drain(self, grace: Duration) -> Result<(), ComponentError> {
        let deadline = Instant::now() + grace;
        let mut first = Ok(());
        for Component { name, stop, mut task } in self.components.into_iter().rev() {
            stop.cancel();
            let error = match timeout_at(deadline, &mut task).await {
                Ok(outcome) => failure(name, outcome),
                Err(_) => {
                    task.abort();
                    Some(ComponentError::Stuck { name, grace })
                }
            };
            if let Some(error) = error {
                warn!(component = name, error = %chain(&error), "Component did not end well");
                first = first.and(Err(error));
            }
        }
        first
    }
}

fn failure(name: &'static str, outcome: Outcome) -> Option<ComponentError> {
    match outcome {
        Ok(Ok(())) => None,
        Ok(Err(source)) => Some(ComponentError::Failed { name, source }),
        Err(source) => Some(ComponentError::Panicked { name, source }),
    }
}

/// Resolves at the first SIGTERM or SIGINT. Signals are caught from the call on, not only once it is polled.
///
/// # Errors
/// When the kernel refuses a handler.
pub fn termination_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    const GRACE: Duration = Duration::from_secs(5);

    fn add_recorder(components: &mut Components, name: &'static str, ended: &Arc<Mutex<Vec<&'static str>>>) {
        let ended = Arc::clone(ended);
        components.add(name, |stop| async move {
            stop.cancelled().await;
            ended.lock().unwrap().push(name);
            Ok(())
        });
    }

    #[tokio::test]
    async fn components_are_drained_in_the_opposite_order_of_their_start() {
        let ended = Arc::default();
        let mut components = Components::new();
        for name in ["first", "second", "third"] {
            add_recorder(&mut components, name, &ended);
        }
        components.run_until(async {}, GRACE).await.unwrap();
        assert_eq!(*ended.lock().unwrap(), ["third", "second", "first"]);
    }

    #[tokio::test]
    async fn a_component_that_ends_by_itself_is_an_error_and_the_others_are_drained() {
        let ended = Arc::default();
        let mut components = Components::new();
        add_recorder(&mut components, "steady", &ended);
        components.add("quitter", |_| async { Ok(()) });
        let error = components.run_until(std::future::pending::<()>(), GRACE).await.unwrap_err();
        assert_eq!(error.to_string(), "component quitter ended by itself");
        assert_eq!(*ended.lock().unwrap(), ["steady"]);
    }

    #[tokio::test]
    async fn a_component_that_fails_is_an_error_with_its_name_and_cause() {
        let mut components = Components::new();
        components.add("ovs", |_| async { anyhow::bail!("no such bridge") });
        let error = components.run_until(std::future::pending::<()>(), GRACE).await.unwrap_err();
        assert_eq!(format!("{:#}", anyhow::Error::from(error)), "component ovs failed: no such bridge");
    }

    #[tokio::test(start_paused = true)]
    async fn a_component_that_does_not_end_is_aborted_after_the_grace_period() {
        let mut components = Components::new();
        components.add("deaf", |_| std::future::pending());
        let error = components.run_until(async {}, GRACE).await.unwrap_err();
        assert_eq!(error.to_string(), "component deaf did not end within the grace period of 5s");
    }

    #[tokio::test]
    async fn a_component_that_panics_is_an_error_with_its_name() {
        let mut components = Components::new();
        components.add("fragile", |_| async { panic!("broken") });
        let error = components.run_until(std::future::pending::<()>(), GRACE).await.unwrap_err();
        assert_eq!(error.to_string(), "component fragile panicked");
    }
}
