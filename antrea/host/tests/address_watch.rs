//! How it is noticed that an address comes or goes.

use std::time::Duration;

use antrea_host::AddressWatch;
use tokio::time::timeout;

use crate::sandbox::{isolated, sh};

async fn notices(watch: &mut AddressWatch) -> bool {
    timeout(Duration::from_secs(10), watch.changed()).await.map(Result::unwrap).is_ok()
}

async fn notices_nothing(watch: &mut AddressWatch) -> bool {
    timeout(Duration::from_millis(200), watch.changed()).await.is_err()
}

#[test]
fn an_address_that_comes_or_goes_is_noticed_also_with_its_interface() {
    isolated("address watch", async || {
        sh("ip link add one type bridge; ip link add two type bridge");
        let mut addresses = AddressWatch::current().unwrap();
        for change in [
            "ip address add 172.18.0.11/24 dev one; ip address add 172.18.0.12/24 dev one",
            "ip address del 172.18.0.12/24 dev one",
            "ip address add fd00:18::11/64 dev two",
            "ip link delete two",
            "ip link delete one",
        ] {
            sh(change);
            assert!(notices(&mut addresses).await, "{change}");
            assert!(notices_nothing(&mut addresses).await, "{change}");
        }
    });
}

#[test]
fn other_changes_of_interfaces_are_not() {
    isolated("address watch", async || {
        let mut addresses = AddressWatch::current().unwrap();
        sh("ip link add one type bridge; ip link set one mtu 1400; ip link delete one");
        assert!(notices_nothing(&mut addresses).await);
    });
}
