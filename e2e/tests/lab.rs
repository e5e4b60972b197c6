//! The lab itself: clusters without Antrea come up, their network works, cuts cut, and nothing stays behind.

use std::fs;

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::lab::{Lab, Lifetime};
use antrea_e2e::names::{LabName, Place};
use antrea_e2e::plan::{Families, Install};
use antrea_e2e::pods::{PORT, Pod, Reachable};
use antrea_e2e::preflight::cgroups::Cgroups;
use antrea_e2e::scenario::{Extent, is_wanted, product, request, with_lab};
use antrea_e2e::{cleanup, exec, partition, processes, state, status};
use anyhow::{Context, Result, ensure};

#[test]
fn pods_of_a_dual_stack_cluster_without_antrea_talk() {
    let mut request = request(Install::Bridge);
    request.families = Families::Dual;
    with_lab("pods_of_a_dual_stack_cluster_without_antrea_talk", Extent::Standard, &request, |lab| {
        let cluster = lab.plan().clusters.first().context("no cluster")?;
        let kubectl = lab.kubectl(cluster.id)?;
        let nodes: Vec<_> = cluster.nodes.iter().map(|node| node.id).collect();
        let pods = Pod::create(&kubectl, &[("a", nodes[0]), ("b", nodes[1])])?;
        pods_talk(&pods[0], &pods[1])?;
        services_and_names_answer(&pods[0])?;
        pods_reach_outside_under_the_address_of_their_node(lab, &pods[0])?;
        a_cut_between_nodes_cuts_their_pods(lab, &pods[0], &pods[1])?;
        commands_run_where_they_are_told_to(lab)?;
        a_control_plane_has_the_weight_of_a_node(lab)?;
        ensure!(status::read(&lab.plan().name)?.is_well(), "status does not call the lab well");
        Ok(())
    });
}

fn pods_talk(a: &Pod, b: &Pod) -> Result<()> {
    for address in b.ips.iter() {
        a.ping(*address, 1400)?;
        ensure!(a.get((*address, PORT).into(), "/hostname")? == b.name, "somebody else answered");
    }
    Ok(())
}

fn services_and_names_answer(pod: &Pod) -> Result<()> {
    let answer = pod.exec(&["curl", "-gsSk", "--max-time", "5", "https://kubernetes.default.svc/version"])?;
    ensure!(
        answer.contains("gitVersion") || answer.contains("Forbidden"),
        "no API server answered: {answer}"
    );
    Ok(())
}

fn pods_reach_outside_under_the_address_of_their_node(lab: &Lab, pod: &Pod) -> Result<()> {
    let node = lab.plan().clusters.iter().flat_map(|cluster| &cluster.nodes).next().context("no Node")?;
    for address in status::read(&lab.plan().name)?.outside {
        let client = pod.get((address, 80).into(), "/clientip")?;
        let client: std::net::SocketAddr =
            client.parse().with_context(|| format!("{client} is no address"))?;
        ensure!(node.node_ips.iter().any(|ip| *ip == client.ip()), "{client} is not the Node's address");
    }
    Ok(())
}

fn a_cut_between_nodes_cuts_their_pods(lab: &Lab, a: &Pod, b: &Pod) -> Result<()> {
    let (first, second): (Place, Place) = ("c1-n1".parse()?, "c1-n2".parse()?);
    partition::cut(lab.plan(), first, second)?;
    b.ips.iter().try_for_each(|address| a.wait_for_ping(*address, Reachable::No))?;
    partition::heal(lab.plan(), second, first)?;
    b.ips.iter().try_for_each(|address| a.wait_for_ping(*address, Reachable::Yes))
}

fn commands_run_where_they_are_told_to(lab: &Lab) -> Result<()> {
    let run = |place: &str, line: &str| -> Result<String> {
        exec::command(lab, place.parse()?, &["sh".into(), "-c".into(), line.into()])?.text()
    };
    ensure!(run("c1-n2", "hostname")? == "c1-n2\n", "the Node has another name");
    ensure!(
        run("c1", "kubectl get nodes -o name")? == "node/c1-n1\nnode/c1-n2\n",
        "kubectl sees other Nodes"
    );
    ensure!(run("outside", "ip -o link show eth0").is_ok(), "outside has no eth0");
    ensure!(run("c1-n1", "exit 3").is_err(), "a failure was lost");
    ensure!(run("c1-n3", "true").is_err(), "there is no c1-n3");
    Ok(())
}

/// Whoever waits for an API server that others keep from the processors waits for seconds.
fn a_control_plane_has_the_weight_of_a_node(lab: &Lab) -> Result<()> {
    let processes = processes::in_namespace(&lab.plan().name.namespace("c1".parse()?))?;
    for program in ["etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager"] {
        let process = processes.iter().find(|process| process.program == program);
        let pid = process.with_context(|| format!("no {program} among {processes:?}"))?.pid;
        let autogroup = fs::read_to_string(format!("/proc/{pid}/autogroup"))?;
        ensure!(autogroup.trim_end().ends_with("nice -10"), "{program} is in {autogroup}");
    }
    Ok(())
}

#[test]
fn a_lab_that_was_killed_leaves_nothing_once_cleaned_up() {
    let name = "a_lab_that_was_killed_leaves_nothing_once_cleaned_up";
    if is_wanted(name, Extent::Standard) {
        let result = kill_a_lab_and_clean_up();
        assert!(result.is_ok(), "{name}: {:?}", result.err());
    }
}

fn kill_a_lab_and_clean_up() -> Result<()> {
    let mut request = request(Install::None);
    request.nodes = 1;
    let lab = Lab::up(&request, &product()?, Lifetime::UntilDown)?;
    // As after a reboot: the processes are gone, all else is there. With the lock nobody else cleans up meanwhile.
    let lock = state::lock()?;
    processes::kill_all(&request.name)?;
    ensure!(!left_of(&request.name)?.is_empty(), "killing a lab removed all of it");
    drop(lock);
    cleanup::remove_leftovers()?;
    let left = left_of(&request.name)?;
    ensure!(left.is_empty(), "left: {left:?}");
    ensure!(cleanup::remove(&request.name)? == 0, "there was something to remove");
    ensure!(Lab::open(&lab.plan().name).is_err(), "the lab is still known");
    Ok(())
}

/// Everything with the lab's name in it.
fn left_of(name: &LabName) -> Result<Vec<String>> {
    let mut left = processes::namespaces(name)?;
    left.extend(processes::of_lab(name)?.into_iter().map(|process| process.program));
    let links = command("ip", &["-o", "link"]).text()?;
    left.extend(links.lines().filter(|line| line.contains(&name.host_link())).map(str::to_owned));
    for root in Cgroups::of_this_machine()?.roots() {
        let cgroups = fs::read_dir(root)?;
        let names = cgroups.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        left.extend(names.filter(|cgroup| cgroup.contains(&format!(".{name}."))));
    }
    let folder = state::folder(name);
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    left.extend(
        mounts.lines().filter(|line| line.contains(&folder.display().to_string())).map(str::to_owned),
    );
    left.extend(folder.exists().then(|| folder.display().to_string()));
    Ok(left)
}
