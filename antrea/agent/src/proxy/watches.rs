//! Services, EndpointSlices and, where the kernel needs them, ServiceCIDRs as they come from the API server. Their
//! watches begin before the switch is asked for anything, so that the objects are listed once.

use antrea_agent_proxy::endpoint_slice::{self, Slice};
use antrea_agent_proxy::service::{self, Service};
use antrea_agent_proxy::{ExternalServices, ServiceName, Settings, SliceName};
use antrea_kit::watch::{WatchEvent, watch};
use anyhow::{Context, Result};
use ipnet::IpNet;
use k8s_openapi::api::{core, discovery};
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::service_cidrs::{self, watch_service_cidrs};

/// Changes that wait to be acted on.
const QUEUE: usize = 1024;

type Named<N, T> = (N, Option<T>);

/// What has changed.
pub(crate) enum Update {
    /// These are all Services.
    AllServices(Vec<Named<ServiceName, Service>>),
    /// A Service is like this; nothing where it is gone.
    Service(ServiceName, Option<Service>),
    /// These are all EndpointSlices.
    AllSlices(Vec<Named<SliceName, Slice>>),
    /// An EndpointSlice is like this; nothing where it is gone.
    Slice(SliceName, Option<Slice>),
    /// These are all ServiceCIDRs.
    AllServiceCidrs(Vec<service_cidrs::Named>),
    /// A ServiceCIDR has these networks; none where it is gone.
    ServiceCidr(Box<str>, Vec<IpNet>),
}

/// The watches. They end when this is dropped.
pub(crate) struct ServiceWatches {
    services: mpsc::Receiver<WatchEvent<Named<ServiceName, Service>>>,
    slices: mpsc::Receiver<WatchEvent<Named<SliceName, Slice>>>,
    /// Only where the kernel gets routes to ClusterIPs.
    service_cidrs: Option<mpsc::Receiver<WatchEvent<service_cidrs::Named>>>,
    complete: Complete,
    _stop: DropGuard,
}

/// What has been listed.
#[derive(Default)]
struct Complete {
    services: bool,
    slices: bool,
    service_cidrs: bool,
}

/// Begins to watch.
pub(crate) fn watch_services(client: &Client, settings: &Settings) -> ServiceWatches {
    let stop = CancellationToken::new();
    let (service_events, services) = mpsc::channel(QUEUE);
    let (slice_events, slices) = mpsc::channel(QUEUE);
    let (of_services, of_slices) = (settings.clone(), settings.clone());
    tokio::spawn(watch(
        Api::<core::v1::Service>::all(client.clone()),
        Default::default(),
        move |object| Some(service::parse(&object, &of_services)),
        service_events,
        stop.clone(),
    ));
    tokio::spawn(watch(
        Api::<discovery::v1::EndpointSlice>::all(client.clone()),
        Default::default(),
        move |object| Some(endpoint_slice::parse(&object, &of_slices)),
        slice_events,
        stop.clone(),
    ));
    let service_cidrs = match settings.external {
        ExternalServices::ByHost => None,
        ExternalServices::ByAgent => {
            let (events, service_cidrs) = mpsc::channel(QUEUE);
            tokio::spawn(watch_service_cidrs(Api::all(client.clone()), events, stop.clone()));
            Some(service_cidrs)
        }
    };
    let complete = Complete { service_cidrs: service_cidrs.is_none(), ..Complete::default() };
    ServiceWatches { services, slices, service_cidrs, complete, _stop: stop.drop_guard() }
}

impl ServiceWatches {
    /// Whether all objects have been listed.
    pub(crate) const fn are_complete(&self) -> bool {
        self.complete.services && self.complete.slices && self.complete.service_cidrs
    }

    /// The next change.
    pub(crate) async fn next(&mut self) -> Result<Update> {
        tokio::select! {
            event = self.services.recv() => {
                Ok(self.of_service(event.context("the watch of Services ended")?))
            }
            event = self.slices.recv() => {
                Ok(self.of_slice(event.context("the watch of EndpointSlices ended")?))
            }
            event = next_of(&mut self.service_cidrs) => {
                Ok(self.of_service_cidr(event.context("the watch of ServiceCIDRs ended")?))
            }
        }
    }

    /// A change that is there already.
    pub(crate) fn ready(&mut self) -> Option<Update> {
        if let Ok(event) = self.services.try_recv() {
            return Some(self.of_service(event));
        }
        if let Ok(event) = self.slices.try_recv() {
            return Some(self.of_slice(event));
        }
        let event = self.service_cidrs.as_mut()?.try_recv().ok()?;
        Some(self.of_service_cidr(event))
    }

    fn of_service(&mut self, event: WatchEvent<Named<ServiceName, Service>>) -> Update {
        match event {
            WatchEvent::Resynced(all) => {
                self.complete.services = true;
                Update::AllServices(all)
            }
            WatchEvent::Applied((name, service)) => Update::Service(name, service),
            WatchEvent::Deleted((name, _)) => Update::Service(name, None),
        }
    }

    fn of_slice(&mut self, event: WatchEvent<Named<SliceName, Slice>>) -> Update {
        match event {
            WatchEvent::Resynced(all) => {
                self.complete.slices = true;
                Update::AllSlices(all)
            }
            WatchEvent::Applied((name, slice)) => Update::Slice(name, slice),
            WatchEvent::Deleted((name, _)) => Update::Slice(name, None),
        }
    }

    fn of_service_cidr(&mut self, event: WatchEvent<service_cidrs::Named>) -> Update {
        match event {
            WatchEvent::Resynced(all) => {
                self.complete.service_cidrs = true;
                Update::AllServiceCidrs(all)
            }
            WatchEvent::Applied((name, networks)) => Update::ServiceCidr(name, networks),
            WatchEvent::Deleted((name, _)) => Update::ServiceCidr(name, Vec::new()),
        }
    }
}

/// The next event, where there are any.
async fn next_of<T>(receiver: &mut Option<mpsc::Receiver<T>>) -> Option<T> {
    match receiver {
        Some(receiver) => receiver.recv().await,
        None => std::future::pending().await,
    }
}
