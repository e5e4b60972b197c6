//! The state as files, before and after.

use super::*;

/// A state directory, and the allocator for it.
struct State {
    directory: tempfile::TempDir,
    ipam: HostLocal,
}

impl State {
    fn new(pod_cidrs: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let nets = pod_cidrs.iter().map(|net| net.parse().unwrap());
        let ipam = HostLocal::new(directory.path(), nets).unwrap();
        Self { directory, ipam }
    }

    /// Allocates, and returns the addresses or the error as text.
    fn allocate(&self, container_id: &str) -> String {
        match self.ipam.allocate(&Owner::new(container_id, "eth0")) {
            Ok(allocations) => {
                let text =
                    |allocation: &Allocation| format!("{} via {}", allocation.address, allocation.gateway);
                allocations.iter().map(text).collect::<Vec<_>>().join(", ")
            }
            Err(error) => error.to_string(),
        }
    }

    fn release(&self, container_id: &str) -> usize {
        let owner = Owner::new(container_id, "eth0");
        let held = self.ipam.held_by(&owner).unwrap();
        held.iter().for_each(|address| self.ipam.release_address(*address, &owner).unwrap());
        held.len()
    }

    /// All files with their contents, one a line; `lock` is left out.
    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name != "lock");
        names.sort();
        names.iter().map(|name| format!("{name}: {:?}", self.read(name))).collect()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(name)).unwrap()
    }

    fn put(&self, name: &str, content: &str) {
        fs::write(self.directory.path().join(name), content).unwrap();
    }
}

/// The state that the plugin left on a Node: recorded from upstream Antrea main at fc70f2bb7 (v2.8.0-dev).
const A: &str = "24898ffbbb0d14e8441de73b1dcb40a61f03270eea8ef87c21411186e652c19e";
const B: &str = "590bff6c18ea6bee77e09d3b97060c8ae01df9301f6d6372138c9469c1f85ce7";

#[test]
fn a_node_that_the_standard_plugin_served_is_taken_over() {
    let state = State::new(&["10.11.0.0/24"]);
    state.put("10.11.0.3", &format!("{A}\r\neth0"));
    state.put("10.11.0.4", &format!("{B}\r\neth0"));
    state.put("last_reserved_ip.0", "10.11.0.4");
    state.put("lock", "");

    assert_eq!(state.allocate(A), "10.11.0.3/24 via 10.11.0.1");
    assert_eq!(state.allocate("new"), "10.11.0.5/24 via 10.11.0.1");
    assert_eq!(state.release(B), 1);
    assert_eq!(
        state.files(),
        [
            format!("10.11.0.3: \"{A}\\r\\neth0\""),
            "10.11.0.5: \"new\\r\\neth0\"".to_owned(),
            "last_reserved_ip.0: \"10.11.0.5\"".to_owned(),
        ]
    );
}

#[test]
fn a_container_gets_one_address_of_each_family_however_often_it_asks() {
    let state = State::new(&["10.0.0.0/24", "fd00:10::/64"]);
    for _ in 0..2 {
        assert_eq!(state.allocate("a"), "10.0.0.2/24 via 10.0.0.1, fd00:10::2/64 via fd00:10::1");
    }
    assert_eq!(state.allocate("b"), "10.0.0.3/24 via 10.0.0.1, fd00:10::3/64 via fd00:10::1");
    assert_eq!(state.read("last_reserved_ip.1"), "fd00:10::3");
    assert_eq!((state.release("a"), state.release("a")), (2, 0));
}

#[test]
fn a_released_address_is_the_last_to_be_given_out_again() {
    let state = State::new(&["10.0.0.0/29"]);
    for (container, expected) in [("a", "10.0.0.2"), ("b", "10.0.0.3")] {
        assert!(state.allocate(container).starts_with(expected));
    }
    state.release("a");
    for (container, expected) in [("c", "10.0.0.4"), ("d", "10.0.0.5"), ("e", "10.0.0.6"), ("f", "10.0.0.2")]
    {
        assert!(state.allocate(container).starts_with(expected), "{container}");
    }
}

#[test]
fn a_shorter_address_leaves_nothing_of_a_longer_one() {
    let state = State::new(&["10.0.0.0/24"]);
    state.put("last_reserved_ip.0", "10.0.0.254\n");
    assert!(state.allocate("a").starts_with("10.0.0.2/"));
    assert_eq!(state.read("last_reserved_ip.0"), "10.0.0.2");
}

#[test]
fn an_exhausted_range_is_named_and_nothing_is_kept() {
    let state = State::new(&["10.0.0.0/24", "fd00::/126"]);
    state.allocate("a");
    state.allocate("b");
    let before = state.files().into_iter().filter(|file| !file.starts_with("last")).collect::<Vec<_>>();
    let expected = "no address is left in fd00::/126: delete Pods of this Node, or give it a larger Pod CIDR";
    assert_eq!(state.allocate("c"), expected);
    let after = state.files().into_iter().filter(|file| !file.starts_with("last")).collect::<Vec<_>>();
    assert_eq!(after, before, "the IPv4 address is released again");
}

#[test]
fn files_of_old_plugins_hold_for_every_interface() {
    let state = State::new(&["10.0.0.0/24"]);
    state.put("10.0.0.9", "a");
    assert_eq!(state.allocate("a"), "10.0.0.9/24 via 10.0.0.1");
    assert_eq!(state.release("a"), 1);
}

#[test]
fn a_file_that_a_crash_left_empty_is_in_use_until_it_is_collected() {
    let state = State::new(&["10.0.0.0/24"]);
    state.put("10.0.0.2", "");
    state.put("last_reserved_ip.0", "gibberish");
    assert_eq!(state.allocate("a"), "10.0.0.3/24 via 10.0.0.1");
    let address = "10.0.0.2".parse().unwrap();
    let holder = state.ipam.allocations().unwrap().get(&address).unwrap().clone();
    state.ipam.release_address(address, &holder).unwrap();
    assert!(!state.ipam.allocations().unwrap().contains_key(&address));
}

#[test]
fn an_address_that_changed_hands_is_not_released() {
    let state = State::new(&["10.0.0.0/24"]);
    state.allocate("a");
    state.ipam.release_address("10.0.0.2".parse().unwrap(), &Owner::new("b", "eth0")).unwrap();
    assert_eq!(state.release("a"), 1);
}

#[test]
fn a_node_without_a_pod_cidr_is_refused() {
    let error = HostLocal::new("/nonexistent", []).unwrap_err().to_string();
    assert_eq!(error, "the Node has no Pod CIDR: set spec.podCIDRs of the Node");
}

#[test]
fn a_damaged_file_holds_its_address_and_keeps_no_other_from_being_given_out() {
    let state = State::new(&["10.10.0.0/24"]);
    fs::write(state.directory.path().join("10.10.0.2"), b"\xff\xfe").unwrap();
    assert_eq!(state.allocate("a"), "10.10.0.3/24 via 10.10.0.1");
    assert_eq!(state.ipam.allocations().unwrap().len(), 2);
}

#[test]
fn what_another_process_did_since_the_last_look_counts() {
    let state = State::new(&["10.0.0.0/24"]);
    assert!(state.allocate("a").starts_with("10.0.0.2"));
    state.put("10.0.0.3", "theirs\r\neth0");
    assert!(state.allocate("b").starts_with("10.0.0.4"), "a new file is seen");
    // Written over in place, which nobody does: the name and the inode are what they were.
    state.put("10.0.0.2", "new\r\neth0");
    assert!(
        state.allocate("a").starts_with("10.0.0.5"),
        "an address that another one has now is not given out"
    );
    state.put("10.0.0.4", "also-new\r\neth0");
    assert_eq!(state.release("b"), 0, "nor released");
    assert_eq!(state.release("also-new"), 1, "and its new holder loses it");
}

#[test]
fn addresses_that_are_not_reserved_for_an_interface_are_named() {
    let state = State::new(&["10.0.0.0/24", "fd00:10::/64"]);
    state.allocate("a");
    let addresses = ["10.0.0.2", "fd00:10::2", "10.0.0.9"].map(|address| address.parse().unwrap());
    let missing =
        |container: &str| state.ipam.not_held_by(&Owner::new(container, "eth0"), &addresses).unwrap().len();
    assert_eq!((missing("a"), missing("b")), (1, 3));
}

#[test]
fn while_another_program_holds_the_lock_nothing_is_changed() {
    let state = State::new(&["10.11.0.0/24"]);
    let lock = File::create(state.directory.path().join("lock")).unwrap();
    lock.lock().unwrap();
    assert!(state.allocate("new").starts_with("another program holds the lock /"));
    assert_eq!(state.files(), Vec::<String>::new());
    drop(lock);
    assert_eq!(state.allocate("new"), "10.11.0.2/24 via 10.11.0.1");
}
