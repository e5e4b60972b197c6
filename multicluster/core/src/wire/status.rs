//! Conditions of ResourceExports: how the leader answers an exporter, and how that reads the answer.

use antrea_shared_api::mcs::conflict_reason;
use antrea_shared_api::multicluster::v1alpha1 as api;
use antrea_shared_api::multicluster::{Condition, ConditionStatus, condition_type};

use crate::common_area::Verdict;
use crate::conflict::{ConflictCondition, joined, shortened};
use crate::service_export::{Conflicts, Progress};

/// Upstream's reason of the condition `Failure`, and the message that it has for all of them.
const CONVERGE_FAILURE: &str = "ConvergeFailure";

/// The conditions of a ResourceExport, without times: `Succeeded` or `Failure` first, as upstream has them; `Conflict`
/// for exports of Services.
pub fn export_conditions(kind: &api::ExportKind, verdict: &Verdict) -> Vec<Condition> {
    let addresses = verdict.addresses.iter().map(ToString::to_string);
    let problems = verdict.problems.iter().map(ToString::to_string);
    let mut left_out = problems.chain(addresses).chain(verdict.left_out.iter().cloned()).peekable();
    let first = match &verdict.refused {
        Some(reason) => {
            let message = shortened(reason.clone());
            condition(condition_type::FAILURE, ConditionStatus::False, CONVERGE_FAILURE, message)
        }
        None if left_out.peek().is_none() => {
            condition(condition_type::SUCCEEDED, ConditionStatus::True, "", String::new())
        }
        None => {
            let message = joined("left out: ", left_out);
            condition(condition_type::SUCCEEDED, ConditionStatus::True, "PartlyImported", message)
        }
    };
    let conflict = (*kind == api::ExportKind::Service).then(|| {
        let conflict = ConflictCondition::of(&verdict.conflicts);
        let status = if conflict.holds() { ConditionStatus::True } else { ConditionStatus::False };
        condition(condition_type::CONFLICT, status, &conflict.reason, conflict.message)
    });
    std::iter::once(first).chain(conflict).collect()
}

fn condition(condition_type: &str, status: ConditionStatus, reason: &str, message: String) -> Condition {
    Condition {
        condition_type: condition_type.to_owned(),
        status,
        last_transition_time: None,
        reason: reason.to_owned(),
        message,
    }
}

/// What the leader has answered to the ResourceExports of a Service, which is of `generation`, and of its endpoints.
pub fn progress(
    service: Option<&api::ResourceExportStatus>,
    generation: Option<i64>,
    endpoints: Option<&api::ResourceExportStatus>,
) -> Progress {
    let Some(status) = service else { return Progress::Pending(None) };
    let answered = status.observed_generation.is_none_or(|observed| Some(observed) >= generation);
    match status.conditions.first() {
        Some(first) if answered && first.condition_type == condition_type::FAILURE => {
            Progress::Refused(first.message.clone(), conflicts(&status.conditions))
        }
        Some(_) if answered => {
            let said =
                endpoints.and_then(|status| status.conditions.first()).map(|first| first.message.clone());
            let left_out = said.filter(|message| !message.is_empty());
            Progress::Merged { conflicts: conflicts(&status.conditions), left_out }
        }
        _ => Progress::Pending(None),
    }
}

fn conflicts(conditions: &[Condition]) -> Conflicts {
    match conditions.iter().find(|condition| condition.condition_type == condition_type::CONFLICT) {
        None => Conflicts::Unknown,
        Some(condition) if condition.reason == conflict_reason::NO_CONFLICTS => Conflicts::None,
        Some(condition) => Conflicts::Some(condition.reason.clone(), condition.message.clone()),
    }
}
