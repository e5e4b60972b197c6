//! Moving addresses and routes between the transport interface and the bridge above it, from any point of a move.

use antrea_hostplan::{UplinkState, desired_uplink, move_uplink};

const BARE_UPLINK: &str = "eth1 mac 02:00:00:00:00:01 mtu 1500";
const BARE_BRIDGE: &str = "br-phy mac 02:00:00:00:00:01 mtu 1500";
const UPLINK: &str = "eth1 mac 02:00:00:00:00:01 mtu 1500; address 172.18.2.11/16; address 172.18.2.99/16; \
                      address fd00:18::11/64; route default via 172.18.0.1 dev eth1; \
                      route 10.9.0.1 dev eth1 scope link; route default via fe80::1 dev eth1 metric 7";
const BRIDGE: &str = "br-phy mac 02:00:00:00:00:01 mtu 1500; address 172.18.2.11/16; address 172.18.2.99/16; \
                      address fd00:18::11/64; route default via 172.18.0.1 dev br-phy; \
                      route 10.9.0.1 dev br-phy scope link; route default via fe80::1 dev br-phy metric 7";

fn state(text: &str) -> UplinkState {
    text.parse().unwrap()
}

/// What is wanted, and the steps that bring it onto the bridge.
fn to_bridge(recorded: Option<&str>, uplink: &str, bridge: &str) -> String {
    let (uplink, bridge) = (state(uplink), state(bridge));
    match desired_uplink(recorded.map(state).as_ref(), &uplink, &bridge) {
        Ok(desired) => steps(&desired, &uplink, &bridge),
        Err(error) => error.to_string(),
    }
}

fn steps(desired: &UplinkState, from: &UplinkState, to: &UplinkState) -> String {
    move_uplink(desired, from, to).iter().map(|step| format!("{step}\n")).collect()
}

#[test]
fn the_first_move_takes_everything_and_loses_nothing() {
    insta::assert_snapshot!(to_bridge(None, UPLINK, BARE_BRIDGE), @r"
    ip link set br-phy up
    ip address replace 172.18.2.11/16 dev br-phy
    ip address replace 172.18.2.99/16 dev br-phy
    ip address replace fd00:18::11/64 dev br-phy
    ip route replace 10.9.0.1 dev br-phy scope link
    ip route replace default via 172.18.0.1 dev br-phy
    ip route replace default via fe80::1 dev br-phy metric 7
    ip route delete default via 172.18.0.1 dev eth1
    ip route delete default via fe80::1 dev eth1 metric 7
    ip route delete 10.9.0.1 dev eth1 scope link
    ip address delete fd00:18::11/64 dev eth1
    ip address delete 172.18.2.99/16 dev eth1
    ip address delete 172.18.2.11/16 dev eth1
    ");
}

#[test]
fn a_finished_move_has_nothing_to_do() {
    assert_eq!(to_bridge(Some(UPLINK), BARE_UPLINK, BRIDGE), "ip link set br-phy up\n");
}

#[test]
fn an_existing_bridge_is_adopted_without_a_record() {
    assert_eq!(to_bridge(None, BARE_UPLINK, BRIDGE), "ip link set br-phy up\n");
}

#[test]
fn a_move_that_was_cut_short_goes_on() {
    let bridge = format!("{BARE_BRIDGE}; address 172.18.2.11/16; route default via 172.18.0.1 dev br-phy");
    insta::assert_snapshot!(to_bridge(Some(UPLINK), UPLINK, &bridge), @r"
    ip link set br-phy up
    ip address replace 172.18.2.99/16 dev br-phy
    ip address replace fd00:18::11/64 dev br-phy
    ip route replace 10.9.0.1 dev br-phy scope link
    ip route replace default via fe80::1 dev br-phy metric 7
    ip route delete default via 172.18.0.1 dev eth1
    ip route delete default via fe80::1 dev eth1 metric 7
    ip route delete 10.9.0.1 dev eth1 scope link
    ip address delete fd00:18::11/64 dev eth1
    ip address delete 172.18.2.99/16 dev eth1
    ip address delete 172.18.2.11/16 dev eth1
    ");
}

#[test]
fn a_bridge_that_lost_everything_gets_it_from_the_record() {
    insta::assert_snapshot!(to_bridge(Some(UPLINK), BARE_UPLINK, BARE_BRIDGE), @r"
    ip link set br-phy up
    ip address replace 172.18.2.11/16 dev br-phy
    ip address replace 172.18.2.99/16 dev br-phy
    ip address replace fd00:18::11/64 dev br-phy
    ip route replace 10.9.0.1 dev br-phy scope link
    ip route replace default via 172.18.0.1 dev br-phy
    ip route replace default via fe80::1 dev br-phy metric 7
    ");
}

#[test]
fn a_bridge_that_lost_its_routes_gets_them_from_the_record() {
    let bridge =
        format!("{BARE_BRIDGE}; address 172.18.2.11/16; address 172.18.2.99/16; address fd00:18::11/64");
    insta::assert_snapshot!(to_bridge(Some(UPLINK), BARE_UPLINK, &bridge), @r"
    ip link set br-phy up
    ip route replace 10.9.0.1 dev br-phy scope link
    ip route replace default via 172.18.0.1 dev br-phy
    ip route replace default via fe80::1 dev br-phy metric 7
    ");
}

#[test]
fn an_address_that_changed_since_is_not_brought_back() {
    let bridge = format!("{BARE_BRIDGE}; address 172.18.7.7/16");
    insta::assert_snapshot!(to_bridge(Some(UPLINK), BARE_UPLINK, &bridge), @r"
    ip link set br-phy up
    ip address replace fd00:18::11/64 dev br-phy
    ip route replace default via fe80::1 dev br-phy metric 7
    ");
}

#[test]
fn no_address_anywhere_is_told() {
    insta::assert_snapshot!(to_bridge(None, BARE_UPLINK, BARE_BRIDGE), @"neither eth1 nor br-phy has an IP address, and none is on record for eth1: give eth1 its address again, for example `ip address add ADDRESS/LENGTH dev eth1`");
}

#[test]
fn moving_back_is_the_same_the_other_way_round() {
    let (uplink, bridge) = (state(BARE_UPLINK), state(BRIDGE));
    let desired = desired_uplink(Some(&state(UPLINK)), &uplink, &bridge).unwrap();
    insta::assert_snapshot!(steps(&desired, &bridge, &uplink), @r"
    ip link set eth1 up
    ip address replace 172.18.2.11/16 dev eth1
    ip address replace 172.18.2.99/16 dev eth1
    ip address replace fd00:18::11/64 dev eth1
    ip route replace 10.9.0.1 dev eth1 scope link
    ip route replace default via 172.18.0.1 dev eth1
    ip route replace default via fe80::1 dev eth1 metric 7
    ip route delete default via 172.18.0.1 dev br-phy
    ip route delete default via fe80::1 dev br-phy metric 7
    ip route delete 10.9.0.1 dev br-phy scope link
    ip address delete fd00:18::11/64 dev br-phy
    ip address delete 172.18.2.99/16 dev br-phy
    ip address delete 172.18.2.11/16 dev br-phy
    ");
}

#[test]
fn what_the_kernel_makes_does_not_move() {
    let addresses = ["172.18.2.11/16", "fe80::1/64"].map(|text| text.parse().unwrap());
    let routes = [
        "172.18.0.0/16 dev eth1 proto kernel scope link src 172.18.2.11",
        "fe80::/64 dev eth1 metric 256",
        "ff00::/8 dev eth1 table local",
        "172.18.255.255 dev eth1 table local scope link",
        "default via 172.18.0.1 dev eth0",
        "default via 172.18.0.1 dev eth1 proto dhcp",
        "169.254.169.254 via 172.18.0.1 dev eth1 proto dhcp",
    ]
    .map(|text| text.parse().unwrap());
    let mac = "02:00:00:00:00:01".parse().unwrap();
    let movable = UplinkState::new("eth1".parse().unwrap(), mac, 1500, addresses, routes);
    assert_eq!(
        movable.to_string(),
        "eth1 mac 02:00:00:00:00:01 mtu 1500; address 172.18.2.11/16; route default via 172.18.0.1 dev eth1 proto dhcp; \
         route 169.254.169.254 via 172.18.0.1 dev eth1 proto dhcp"
    );
}
