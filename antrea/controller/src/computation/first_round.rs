//! Which number the rounds of this controller begin after: more than any that an earlier one has told, whatever clocks say.
//!
//! Agents take in what all three of their watches have come to. Where one still hears an earlier controller, that must not
//! look later than what this one says. So each controller leaves the number that it began with in the ConfigMap of its
//! certificate, and the next one begins far beyond.

use std::collections::BTreeMap;
use std::time::Duration;

use antrea_kit::backoff::{Backoff, jitter};
use antrea_kit::ca_publisher::{KEY, Publication};
use antrea_kit::kube_client::{Effect, bounded, create};
use antrea_kit::logging::chain;
use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, ObjectMeta, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::warn;

/// The annotation with the number.
const ANNOTATION: &str = "antrea.io/first-round";

/// More rounds than any controller tells: at a hundred each second it would take a year and a half.
const APART: u64 = 1 << 32;

/// How long policies wait for the number: what is computed from matters more.
const PATIENCE: Duration = Duration::from_secs(10);

/// The waits between attempts.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The number, which is stored for the next controller before anybody is told of a round. Where that cannot be done it is
/// what the clock says.
pub(super) async fn settle(client: Client, publication: &Publication, now: Timestamp) -> u64 {
    let clock = u64::try_from(now.as_microsecond()).unwrap_or_default();
    let api: Api<ConfigMap> = Api::namespaced(client, &publication.namespace);
    let late = Instant::now() + PATIENCE;
    let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
    loop {
        let error = match timeout_at(late, begin(&api, publication, clock)).await {
            Ok(Ok(first)) => return first,
            Ok(Err(error)) => error,
            Err(error) => error.into(),
        };
        let next = Instant::now() + backoff.wait(jitter());
        if next >= late {
            let error = chain(error.as_ref());
            warn!(
                error,
                "Rounds of policies are numbered by the clock alone: agents may mix them up with earlier ones"
            );
            return clock;
        }
        sleep(next - Instant::now()).await;
    }
}

async fn begin(api: &Api<ConfigMap>, publication: &Publication, clock: u64) -> Result<u64> {
    let Publication { name, ca_pem, field_manager, .. } = publication;
    let only = ListParams::default().fields(&format!("metadata.name={name}"));
    let found = bounded(api.list(&only)).await.with_context(|| format!("cannot list ConfigMap {name}"))?;
    let map = found.items.into_iter().next();
    let first = after(map.as_ref().and_then(stored), clock);
    let annotations = BTreeMap::from([(ANNOTATION.to_owned(), first.to_string())]);
    if map.is_none() {
        let (name, annotations) = (Some(name.clone()), Some(annotations));
        let map = ConfigMap {
            metadata: ObjectMeta { name, annotations, ..ObjectMeta::default() },
            // Whoever reads it finds what it is there for.
            data: Some(BTreeMap::from([(KEY.to_owned(), ca_pem.clone())])),
            ..ConfigMap::default()
        };
        let effect = create(api, &map, field_manager).await?;
        ensure!(effect == Effect::Changed, "somebody else created ConfigMap {}", publication.name);
        return Ok(first);
    }
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let parameters =
        PatchParams { field_manager: Some((*field_manager).to_owned()), ..PatchParams::default() };
    bounded(api.patch(name, &parameters, &patch))
        .await
        .with_context(|| format!("cannot annotate ConfigMap {name}"))?;
    Ok(first)
}

/// What the last controller began with. What leaves no room for more is not of a controller.
fn stored(map: &ConfigMap) -> Option<u64> {
    let first: u64 = map.annotations().get(ANNOTATION)?.parse().ok()?;
    (first < u64::MAX / 2).then_some(first)
}

fn after(stored: Option<u64>, clock: u64) -> u64 {
    stored.map_or(clock, |stored| clock.max(stored + APART))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(annotation: &str, clock: u64, expected: u64) {
        let annotations = Some(BTreeMap::from([(ANNOTATION.to_owned(), annotation.to_owned())]));
        let metadata = ObjectMeta { annotations, ..ObjectMeta::default() };
        let map = ConfigMap { metadata, ..ConfigMap::default() };
        assert_eq!(after(stored(&map), clock), expected, "{annotation:?} at {clock}");
    }

    #[test]
    fn rounds_begin_by_the_clock_but_beyond_those_of_the_controller_before() {
        check("7", 2 * APART, 2 * APART);
        check("7", 0, 7 + APART);
        check("7", 8, 7 + APART);
        check("9000000000", 8_000_000_000, 9_000_000_000 + APART);
        assert_eq!(after(None, 8), 8);
    }

    #[test]
    fn what_no_controller_has_stored_is_not_counted_from() {
        for damaged in ["", "soon", "-1", "18446744073709551615"] {
            check(damaged, 8, 8);
        }
    }
}
