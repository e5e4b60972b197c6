//! Answers to watches.

use std::time::Duration;

use antrea_kit::backoff::jitter;
use antrea_kit::query::Query;
use antrea_shared_api::api::ApiObject;
use antrea_shared_api::controlplane::v1beta2::EgressGroup;
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::protobuf::{Message, WATCH_MEDIA_TYPE};
use antrea_shared_api::watch::{EventType, to_frame, to_line};
use hyper::body::Bytes;
use hyper::{HeaderMap, StatusCode};
use serde::Serialize;
use tokio::time::sleep;

use super::accept::{Format, negotiate};
use super::answer::{Answer, JSON, answer};
use super::body::WatchBody;
use super::empty::SupportBundleCollection;
use super::failure::Failure;
use super::places::Place;
use super::reading::selector;
use super::request::wants;
use super::resources::Served;
use super::{Api, Body, Caller};
use crate::store::{Encoding, Rounds, Watch, bookmark};

/// How long a watch lasts at least that does not say how long it should.
const LEAST_DURATION: Duration = Duration::from_secs(1800);

/// How long a watch lasts at most: whoever lost the right to watch is found out when they begin anew.
const LONGEST: Duration = Duration::from_secs(3600);

/// What the bookmark says that ends the objects which were there.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Begins a watch.
pub(super) async fn begin(
    api: &Api,
    served: Served,
    caller: Caller<'_>,
    query: &Query,
    headers: &HeaderMap,
    place: Place,
) -> Result<Answer, Failure> {
    let selector = selector(query)?;
    caller.reach.check_selected(caller.action, &selector)?;
    let duration = duration(query)?;
    let format = negotiate(headers, &[Format::Json, Format::Protobuf]).ok_or_else(Failure::not_acceptable)?;
    let (encoding, content_type) = match format {
        Format::Protobuf => (Encoding::Protobuf, WATCH_MEDIA_TYPE),
        _ => (Encoding::Json, JSON),
    };
    let subscription = match served {
        Served::Watched(kind) => Some(api.store.subscribe(kind, selector, rounds(query)).await),
        _ => None,
    };
    let metadata = metadata(subscription.as_ref().map(|subscription| &subscription.watch), query);
    let bookmark = first_bookmark(served, metadata, encoding).ok_or_else(Failure::not_encoded)?;
    let stop = api.stop.clone();
    let end = Box::pin(async move {
        let _place = place;
        tokio::select! {
            () = sleep(duration) => {}
            () = stop.cancelled_owned() => {}
        }
    });
    let body = WatchBody::new(subscription, bookmark, encoding, end);
    Ok(answer(StatusCode::OK, content_type, Body::Watch(Box::new(body))))
}

/// Watches that do not say how long they should last end at different times.
fn duration(query: &Query) -> Result<Duration, Failure> {
    match query.get("timeoutSeconds").map(str::parse::<u32>) {
        None | Some(Ok(0)) => Ok(LEAST_DURATION.mul_f64(1.0 + jitter())),
        Some(Ok(seconds)) => Ok(Duration::from_secs(seconds.into()).min(LONGEST)),
        Some(Err(_)) => Err(Failure::bad_request("timeoutSeconds is not a number of seconds")),
    }
}

/// Who takes bookmarks at any time is told of rounds by them.
fn rounds(query: &Query) -> Rounds {
    if wants(query, "allowWatchBookmarks") { Rounds::Told } else { Rounds::Untold }
}

fn metadata(watch: Option<&Watch>, query: &Query) -> Metadata {
    let mut metadata = Metadata::bookmark(watch.map_or(0, |watch| watch.version));
    if let Some(round) = watch.and_then(|watch| watch.round.as_ref()) {
        round.annotate(&mut metadata);
    }
    if wants(query, "sendInitialEvents") && wants(query, "allowWatchBookmarks") {
        metadata.annotations.insert(INITIAL_EVENTS_END.to_owned(), "true".to_owned());
    }
    metadata
}

fn first_bookmark(served: Served, metadata: Metadata, encoding: Encoding) -> Option<Bytes> {
    match served {
        Served::Watched(kind) => bookmark(kind, metadata, encoding).map(Bytes::from),
        Served::EgressGroups => encode(&EgressGroup { metadata, ..EgressGroup::default() }, encoding),
        Served::SupportBundleCollections => encode(&SupportBundleCollection { metadata }, encoding),
        _ => None,
    }
}

fn encode<T: ApiObject + Message + Serialize>(object: &T, encoding: Encoding) -> Option<Bytes> {
    match encoding {
        Encoding::Json => to_line(EventType::Bookmark, object).ok().map(Bytes::from),
        Encoding::Protobuf => Some(to_frame(EventType::Bookmark, object).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(query: &str) -> Option<u64> {
        duration(&Query::parse(query)).ok().map(|duration| duration.as_secs())
    }

    #[test]
    fn a_watch_lasts_as_long_as_it_says_but_an_hour_at_most() {
        assert_eq!(seconds("timeoutSeconds=5"), Some(5));
        assert_eq!(seconds("timeoutSeconds=3600"), Some(3600));
        assert_eq!(seconds("timeoutSeconds=4294967295"), Some(3600));
        assert!(seconds("").is_some_and(|seconds| (1800..=3600).contains(&seconds)));
        assert_eq!(seconds("timeoutSeconds=-1"), None);
    }
}
