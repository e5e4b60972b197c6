//! The server outside of all clusters: agnhost's `netexec` behind the router, by HTTP on ports 80 and 8080 and by UDP
//! on port 8081. It knows the way to the lab's subnets and to no Pod.

use anyhow::{Context, Result};

use crate::command::{Run as _, spawn_detached};
use crate::names::Place;
use crate::plan::Plan;
use crate::programs::Programs;
use crate::state;
use crate::topology::in_namespace;

/// The server listens on one port; what comes to the other is its, too, with the client's address kept.
const REDIRECT: &str = "table inet outside {
  chain prerouting {
    type nat hook prerouting priority dstnat;
    tcp dport 80 redirect to :8080
  }
}
";

/// Starts the server and does not wait for it.
///
/// # Errors
/// When it cannot start.
pub fn start(programs: &Programs, plan: &Plan) -> Result<()> {
    let namespace = plan.name.namespace(Place::Outside);
    in_namespace(&namespace, "nft")
        .args(["-f", "-"])
        .feed(REDIRECT)
        .context("cannot open port 80 outside")?;
    let mut server = in_namespace(&namespace, programs.path("agnhost")?);
    server.args(["netexec", "--http-port=8080", "--udp-port=8081"]);
    spawn_detached(&plan.name, &server, &state::folder(&plan.name).join("outside.log"))
}
