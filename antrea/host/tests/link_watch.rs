//! How it is noticed that an interface is made anew.

use std::time::Duration;

use antrea_host::{LinkWatch, Netns};
use tokio::time::timeout;

use crate::sandbox::{isolated, sh};

const MADE_ANEW: &str = "ip link delete antrea-gw0; ip link add antrea-gw0 type bridge";

fn watch() -> LinkWatch {
    LinkWatch::current(&"antrea-gw0".parse().unwrap()).unwrap()
}

async fn notices(watch: &mut LinkWatch) -> bool {
    timeout(Duration::from_secs(10), watch.made_anew()).await.map(Result::unwrap).is_ok()
}

/// Everything that there is to notice was noticed: the notice of something later is the next.
async fn notices_nothing(watch: &mut LinkWatch) -> bool {
    tokio::select! {
        biased;
        _ = watch.made_anew() => false,
        () = tokio::task::yield_now() => true,
    }
}

#[test]
fn an_interface_that_is_made_anew_is_noticed_while_one_waits_and_afterwards() {
    isolated("link watch", async || {
        let mut gateway = watch();
        let netns = Netns::current().unwrap();
        let make = netns.run(|| sh("ip link add antrea-gw0 type bridge"));
        let (noticed, made) = tokio::join!(notices(&mut gateway), make);
        made.unwrap();
        assert!(noticed && notices_nothing(&mut gateway).await);
        sh(MADE_ANEW);
        assert!(notices(&mut gateway).await && notices_nothing(&mut gateway).await);
    });
}

#[test]
fn only_that_interface_counts_and_only_a_new_one() {
    isolated("link watch", async || {
        sh("ip link add antrea-gw0 type bridge");
        let mut gateway = watch();
        sh(
            "ip link add antrea-gw01 type bridge; ip link add antrea-gw type bridge; ip link set antrea-gw0 up; \
            ip link set antrea-gw0 mtu 1400; ip link set antrea-gw0 down",
        );
        assert!(notices_nothing(&mut gateway).await);
        sh("ip link delete antrea-gw0");
        assert!(notices_nothing(&mut gateway).await);
        sh("ip link set antrea-gw01 name antrea-gw0");
        assert!(notices(&mut gateway).await);
    });
}
