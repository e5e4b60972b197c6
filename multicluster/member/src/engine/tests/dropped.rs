//! What our own API server drops is asked for again, though no object changes.

use super::*;
use crate::action::ensure;
use crate::send::Outcome;

/// A patch of a ServiceImport was answered with the whole object, or without what is in its spec.
fn answered(lab: &mut Lab<Importer>, name: &str, kept: bool) {
    let metadata = json!({ "name": name, "namespace": "ns0", "uid": name });
    let (found, whole) =
        (json!({ "metadata": metadata }), json!({ "metadata": metadata, "spec": { "ips": ["10.0.0.1"] } }));
    let asked = ensure(Kind::ServiceImport, Some(&found), &whole).unwrap();
    lab.engine.done(Done {
        subject: Imported::Service("ns0".to_owned(), name.to_owned()),
        connection: 0,
        actions: vec![asked],
        rounds: vec![lab.engine.objects.round(Kind::ServiceImport)],
        outcomes: vec![Some(Outcome::Is(Kind::ServiceImport, if kept { whole } else { found }))],
        result: Ok(()),
        refusal: None,
    });
}

/// The API server has not kept all of a ServiceImport.
fn dropped(lab: &mut Lab<Importer>, name: &str) {
    answered(lab, name, false);
    lab.engine.tick();
    lab.decide();
}

/// What is decided on when so many seconds pass and nothing happens.
async fn passed(lab: &mut Lab<Importer>, seconds: u64) -> Vec<String> {
    let until = Instant::now() + Duration::from_secs(seconds);
    while let Some(look) = lab.engine.next_look().filter(|look| *look <= until) {
        tokio::time::advance(look - Instant::now()).await;
        lab.engine.tick();
    }
    tokio::time::advance(until - Instant::now()).await;
    once(&lab.decide())
}

/// The watch of a kind whose definition has got a field back may go on where it ended.
#[tokio::test(start_paused = true)]
async fn what_our_own_api_server_has_dropped_is_decided_on_once_a_minute() {
    let mut lab = Lab::of(importer(), &imports(1));
    dropped(&mut lab, "s1");
    dropped(&mut lab, "s2");
    assert_eq!(passed(&mut lab, 59).await, [""; 0]);
    assert_eq!(passed(&mut lab, 1).await, ["Service ns0/s2"]);
    dropped(&mut lab, "s2");
    assert_eq!(passed(&mut lab, 60).await, ["Service ns0/s1"]);
    dropped(&mut lab, "s1");
    assert_eq!(passed(&mut lab, 60).await, ["Service ns0/s2"]);
}

#[tokio::test(start_paused = true)]
async fn once_our_own_api_server_keeps_more_it_is_asked_for_all() {
    let mut lab = Lab::of(importer(), &imports(1));
    for name in ["s1", "s2", "s3"] {
        dropped(&mut lab, name);
    }
    assert_eq!(passed(&mut lab, 60).await, ["Service ns0/s2"]);
    answered(&mut lab, "s2", true);
    assert_eq!(once(&lab.decide()), ["Service ns0/s1", "Service ns0/s2", "Service ns0/s3"]);
    assert_eq!(passed(&mut lab, 600).await, [""; 0]);
}
