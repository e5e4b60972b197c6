//! Flows that are written down instead of installed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use antrea_agent_cni::flows::{FlowError, PodFlows};
use antrea_agent_cni::interface::ContainerInterface;
use antrea_pipeline::PodInterface;
use antrea_types::InterfaceName;
use futures::FutureExt;
use futures::future::BoxFuture;

/// The flows that a switch would have.
#[derive(Default)]
pub(crate) struct RecordedFlows(Mutex<State>);

#[derive(Default)]
struct State {
    flows: BTreeMap<InterfaceName, PodInterface>,
    refusal: Option<&'static str>,
}

impl RecordedFlows {
    /// From now on nothing can be installed.
    pub(crate) fn refuse(&self, reason: &'static str) {
        self.state().refusal = Some(reason);
    }

    pub(crate) fn present(&self) -> BTreeMap<InterfaceName, PodInterface> {
        self.state().flows.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
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

    fn unavailable(&self) -> Option<String> {
        self.state().refusal.map(str::to_owned)
    }

    fn uninstall<'a>(&'a self, name: &'a InterfaceName) -> BoxFuture<'a, Result<(), FlowError>> {
        self.state().flows.remove(name);
        async { Ok(()) }.boxed()
    }
}
