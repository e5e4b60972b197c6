//! How the leader answers an exporter, and how that reads the answer.

use antrea_mc_core::common_area::Verdict;
use antrea_mc_core::conflict::Conflict;
use antrea_mc_core::service_export::{Conflicts, Progress};
use antrea_mc_core::wire::{Problem, export_conditions, progress};
use antrea_shared_api::multicluster::v1alpha1::{ExportKind, ResourceExportStatus};

fn answer(verdict: &Verdict) -> ResourceExportStatus {
    let conditions = export_conditions(&ExportKind::Service, verdict);
    ResourceExportStatus { conditions, observed_generation: Some(2) }
}

fn conflict() -> Vec<Conflict> {
    vec![Conflict::Refused { cluster: "west".parse().unwrap(), winner: "east".parse().unwrap() }]
}

#[test]
fn an_export_that_is_taken_is_answered_as_upstream_does() {
    let status = answer(&Verdict::default());
    insta::assert_snapshot!(serde_json::to_string(&status.conditions).unwrap(), @r#"[{"type":"Succeeded","status":"True"},{"type":"Conflict","status":"False","reason":"NoConflicts"}]"#);
    assert_eq!(
        progress(Some(&status), Some(2), None),
        Progress::Merged { conflicts: Conflicts::None, left_out: None }
    );
    assert_eq!(export_conditions(&ExportKind::Endpoints, &Verdict::default()).len(), 1);
}

#[test]
fn one_that_is_refused_hears_why() {
    let verdict =
        Verdict { refused: Some("why".to_owned()), conflicts: conflict().into(), ..Verdict::default() };
    let status = answer(&verdict);
    insta::assert_snapshot!(serde_json::to_string(&status.conditions).unwrap(), @r#"[{"type":"Failure","status":"False","reason":"ConvergeFailure","message":"why"},{"type":"Conflict","status":"True","reason":"PortConflict","message":"the export of cluster west is left out: its ports differ from those of cluster east, whose export is older"}]"#);
    let Progress::Refused(why, Conflicts::Some(reason, _)) = progress(Some(&status), Some(2), None) else {
        panic!("not refused")
    };
    assert_eq!((why.as_str(), reason.as_str()), ("why", "PortConflict"));
}

#[test]
fn what_is_left_out_is_named() {
    let problems = vec![Problem { path: "spec.name".to_owned(), reason: "is odd".to_owned() }];
    let status = answer(&Verdict { problems, ..Verdict::default() });
    let left_out = status.conditions.first().map(|first| first.message.clone());
    let taken = answer(&Verdict::default());
    assert_eq!(
        progress(Some(&taken), Some(2), Some(&status)),
        Progress::Merged { conflicts: Conflicts::None, left_out }
    );
    insta::assert_snapshot!(serde_json::to_string(&status.conditions[0]).unwrap(), @r#"{"type":"Succeeded","status":"True","reason":"PartlyImported","message":"left out: spec.name: is odd"}"#);
}

#[test]
fn an_answer_to_an_earlier_export_is_none() {
    let status = answer(&Verdict::default());
    assert_eq!(progress(Some(&status), Some(3), None), Progress::Pending(None));
    assert_eq!(progress(None, Some(1), None), Progress::Pending(None));
    assert_eq!(progress(Some(&ResourceExportStatus::default()), Some(1), None), Progress::Pending(None));
}

#[test]
fn the_answer_of_an_upstream_leader_says_nothing_of_conflicts() {
    let upstream =
        "conditions: [{lastTransitionTime: '2026-11-21T09:48:02Z', status: 'True', type: Succeeded}]";
    let status: ResourceExportStatus = serde_saphyr::from_str(upstream).unwrap();
    assert_eq!(
        progress(Some(&status), Some(1), None),
        Progress::Merged { conflicts: Conflicts::Unknown, left_out: None }
    );
}
