//! Tells the controller how far policies are realized on this Node.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_shared_api::controlplane::v1beta2::NetworkPolicyStatus;
use anyhow::Result;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::antrea_controller::{AntreaController, CallError};

/// What is to be told, by the names of policies.
pub(crate) type Reports = BTreeMap<String, NetworkPolicyStatus>;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What the controller answers where there is no such policy any more.
const NOT_FOUND: u16 = 404;

/// Tells what is new until `stop`.
pub(crate) async fn report(
    controller: AntreaController,
    mut wanted: watch::Receiver<Reports>,
    stop: CancellationToken,
) -> Result<()> {
    let mut told = Reports::new();
    let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
    let keep = async {
        loop {
            let reports = wanted.borrow_and_update().clone();
            told.retain(|name, _| reports.contains_key(name));
            match tell(&controller, reports, &mut told).await {
                Ok(()) => {
                    backoff.reset();
                    if wanted.changed().await.is_err() {
                        sleep(LONGEST_WAIT).await;
                    }
                }
                Err(error) => {
                    debug!(%error, "The status of a policy was not reported");
                    let _ = timeout(backoff.wait(jitter()), wanted.changed()).await;
                }
            }
        }
    };
    stop.run_until_cancelled(keep).await;
    Ok(())
}

async fn tell(controller: &AntreaController, reports: Reports, told: &mut Reports) -> Result<(), CallError> {
    for (name, report) in reports {
        if told.get(&name) == Some(&report) {
            continue;
        }
        match controller.report_status(&report).await {
            Ok(()) | Err(CallError::Refused { code: NOT_FOUND, .. }) => told.insert(name, report),
            Err(error) => return Err(error),
        };
    }
    Ok(())
}
