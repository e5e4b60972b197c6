//! The datapath behind ovs-vswitchd: the flows that packets meet, made of those of the tables when a packet needs them.

use std::path::PathBuf;

use crate::ovsdb::DatapathType;
use crate::unixctl::{UnixctlError, command, vswitchd_socket};

/// Where packets are switched, and how its flows are renewed.
#[derive(Clone, Debug)]
pub struct Datapath {
    run_dir: PathBuf,
    datapath_type: DatapathType,
}

impl Datapath {
    /// The one of the ovs-vswitchd with its sockets in this folder.
    pub const fn new(run_dir: PathBuf, datapath_type: DatapathType) -> Self {
        Self { run_dir, datapath_type }
    }

    /// Its type.
    pub const fn datapath_type(&self) -> DatapathType {
        self.datapath_type
    }

    /// Has ovs-vswitchd do `method`, and returns what it prints.
    ///
    /// # Errors
    /// What the daemon says where it refuses, or that it is away.
    pub async fn command(&self, method: &str, arguments: &[&str]) -> Result<String, UnixctlError> {
        command(&vswitchd_socket(&self.run_dir)?, method, arguments).await
    }

    /// Waits until packets meet no flow of the datapath that is older than the call.
    ///
    /// ovs-vswitchd changes or removes those of the kernel one after another once the tables have changed, which takes up to
    /// half a second. In the userspace datapath it forgets some: it looks up which flow it has to change by a packet, and of two
    /// that match the packet it changes one, as often as there are two. The other one goes on doing what it did, whatever
    /// policies say, as long as packets meet it (seen with Open vSwitch 3.1.0). So there all go, twice: left out is a flow that
    /// ovs-vswitchd is about to compare with the tables, and it compares none between two rounds.
    ///
    /// # Errors
    /// As [`Self::command`].
    pub async fn renewed(&self) -> Result<(), UnixctlError> {
        match self.datapath_type {
            // The round that ends first may have begun before.
            DatapathType::System => self.each(["revalidator/wait", "revalidator/wait"]).await,
            DatapathType::Netdev => {
                self.each(["revalidator/purge", "revalidator/wait", "revalidator/purge"]).await
            }
        }
    }

    async fn each<const COUNT: usize>(&self, methods: [&str; COUNT]) -> Result<(), UnixctlError> {
        for method in methods {
            self.command(method, &[]).await?;
        }
        Ok(())
    }
}
