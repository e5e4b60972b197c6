//! Flows that are written down instead of installed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use antrea_agent_cni::flows::{FlowError, PodFlows};
use antrea_agent_cni::interface::ContainerInterface;
use antrea_pipeline::PodInterface;
use antrea_types::InterfaceName;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{OwnedMutexGuard, watch};

/// The flows that a switch would have.
#[derive(Default)]
pub(crate) struct RecordedFlows {
    state: Mutex<State>,
    forgetting: Arc<tokio::sync::Mutex<()>>,
    /// Whether nobody tells peers of Pods.
    untold: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    flows: BTreeMap<InterfaceName, PodInterface>,
    closed: BTreeSet<IpAddr>,
    /// Addresses whose connections were forgotten, with those that had flows at that moment.
    forgotten: Vec<(Vec<IpAddr>, Vec<InterfaceName>)>,
    refusal: Option<&'static str>,
    notes: BTreeMap<String, String>,
}

impl RecordedFlows {
    /// From now on nothing can be installed.
    pub(crate) fn refuse(&self, reason: &'static str) {
        self.state().refusal = Some(reason);
    }

    /// From now on new ports say this.
    pub(crate) fn note(&self, key: &str, value: &str) {
        self.state().notes.insert(key.to_owned(), value.to_owned());
    }

    pub(crate) fn present(&self) -> BTreeMap<InterfaceName, PodInterface> {
        self.state().flows.clone()
    }

    /// The addresses whose connections were forgotten, one request after the other, with the interfaces that had flows then.
    pub(crate) fn forgotten(&self) -> Vec<(Vec<IpAddr>, Vec<InterfaceName>)> {
        self.state().forgotten.clone()
    }

    /// The addresses that nothing is sent to.
    pub(crate) fn closed(&self) -> Vec<IpAddr> {
        self.state().closed.iter().copied().collect()
    }

    /// From now on nothing is forgotten before what is returned is dropped.
    pub(crate) async fn remember(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.forgetting).lock_owned().await
    }

    /// From now on peers are told of Pods, or are not.
    pub(crate) fn set_untold(&self, untold: bool) {
        self.untold.send_replace(untold);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl PodFlows for RecordedFlows {
    fn install<'a>(
        &'a self,
        name: &'a InterfaceName,
        _: &'a ContainerInterface,
        interface: &'a PodInterface,
    ) -> BoxFuture<'a, Result<(), FlowError>> {
        let mut state = self.state();
        let outcome = match state.refusal {
            Some(reason) => Err(reason.into()),
            None => {
                state.flows.insert(name.clone(), interface.clone());
                Ok(())
            }
        };
        async { outcome }.boxed()
    }

    fn notes(&self, _: &InterfaceName) -> BTreeMap<String, String> {
        self.state().notes.clone()
    }

    fn unavailable(&self) -> Option<String> {
        self.state().refusal.map(str::to_owned)
    }

    fn uninstall<'a>(&'a self, name: &'a InterfaceName) -> BoxFuture<'a, Result<(), FlowError>> {
        self.state().flows.remove(name);
        async { Ok(()) }.boxed()
    }

    fn close(&self, addresses: &[IpAddr]) -> BoxFuture<'static, Result<(), FlowError>> {
        self.state().closed.extend(addresses);
        async { Ok(()) }.boxed()
    }

    fn peers_untold(&self) -> Option<BoxFuture<'static, ()>> {
        let mut untold = self.untold.subscribe();
        let is_untold = *untold.borrow();
        is_untold.then(|| async move { drop(untold.wait_for(|untold| !untold).await) }.boxed())
    }

    fn open(&self, addresses: &[IpAddr]) {
        self.state().closed.retain(|address| !addresses.contains(address));
    }

    fn forget<'a>(&'a self, addresses: &'a [IpAddr]) -> BoxFuture<'a, Result<(), FlowError>> {
        async {
            let _turn = self.forgetting.lock().await;
            let mut state = self.state();
            let connected = state.flows.keys().cloned().collect();
            state.forgotten.push((addresses.to_vec(), connected));
            Ok(())
        }
        .boxed()
    }
}
