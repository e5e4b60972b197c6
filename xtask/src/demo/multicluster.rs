//! `cargo xtask demo --multicluster`: Service `nginx` of two clusters, asked from a third; every hop of the requests as
//! packets show it.

use std::process::ExitCode;

use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::lab::Lab;
use antrea_e2e::multicluster::cluster_set::{self, Member};
use antrea_e2e::multicluster::nginx::{self, Example};
use antrea_e2e::multicluster::walk;
use antrea_e2e::names::LabName;
use antrea_e2e::progress::step;
use antrea_e2e::{admission, state};
use anyhow::Result;

use xtask::image::Products;

/// What is shown of the first cluster.
const SHOWN: [&[&str]; 4] = [
    &["get", "serviceimports.multicluster.x-k8s.io", nginx::SERVICE, "--output=wide"],
    &["get", "service", nginx::IMPORTED],
    &["get", "endpointslices", "-l", "kubernetes.io/service-name=antrea-mc-nginx"],
    &["get", "clusterinfoimports", "--namespace=kube-system"],
];

/// How often the Service is asked for all to see.
const QUESTIONS: usize = 8;

pub(super) fn run(name: &LabName) -> Result<ExitCode> {
    let (lab, members) = up(name)?;
    let example = step("Service nginx in clusters B and C, exported to A", || nginx::create(&members))?;
    step("answers of both", || example.wait_for_answers())?;
    let leader = cluster_set::leader(&members)?;
    show_objects(&leader.kubectl)?;
    ask(&example)?;
    let walks = step("following a request to each", || walk::check(&lab, &members, &example))?;
    for walk in walks {
        println!("\nA request of {} that {} answered:\n\n{walk}", example.client.name, walk.server);
    }
    look_inside(&lab, &members)?;
    Ok(ExitCode::SUCCESS)
}

/// The lab and its ClusterSet. What can be refused is refused before anything is installed, built or made.
fn up(name: &LabName) -> Result<(Lab, Vec<Member>)> {
    let request = nginx::request(name.clone())?;
    admission::check(&request)?;
    println!(
        "Three clusters of two Nodes: A (c1) is leader and member, B (c2) and C (c3) are members. The first time, what \
         it needs is built."
    );
    let with_modes = |product| cluster_set::with_modes(product, request.clusters);
    let (lab, product) = super::build_and_start(&request, Products::Both, with_modes)?;
    let members = cluster_set::members(&lab, &product)?;
    step("antctl mc init, create membertoken, join; Gateways", || cluster_set::form(&members))?;
    println!();
    for member in &members {
        print!("{}", member.antctl.text(&["status", "--wait"])?);
    }
    println!();
    Ok((lab, members))
}

fn show_objects(kubectl: &Kubectl) -> Result<()> {
    println!();
    for words in SHOWN {
        println!("$ kubectl {}\n{}", words.join(" "), kubectl.text(words)?);
    }
    Ok(())
}

fn ask(example: &Example) -> Result<()> {
    println!("$ kubectl exec {} -- curl http://{}/hostname", example.client.name, example.imported);
    for _ in 0..QUESTIONS {
        println!("{}", example.ask()?);
    }
    Ok(())
}

fn look_inside(lab: &Lab, members: &[Member]) -> Result<()> {
    println!("\nLook inside:");
    println!("  alias kubectl={}", lab.programs().path("kubectl")?.display());
    for member in members {
        let kubeconfig = state::kubeconfig(&lab.plan().name, member.cluster);
        println!("  export KUBECONFIG={}   # {}", kubeconfig.display(), member.id());
    }
    println!("  cargo xtask lab exec --name {} c1-n1 -- tcpdump -nn -i eth1 udp port 6081", lab.plan().name);
    Ok(())
}
