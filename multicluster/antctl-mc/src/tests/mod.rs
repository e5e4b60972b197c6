//! Commands against clusters that are folders of object files: what is printed, and what is in the cluster then.

mod check;
mod deploy;
mod leader;
mod leaving;
mod member;
mod printed;

use std::path::Path;

use antrea_kit::object_files;
use clap::Parser;
use hyper::{Request, Response};
use kube::client::Body;
use kube::{Client, ResourceExt};

use crate::cli::Arguments;
use crate::cluster::{Cluster, Kind};
use crate::perform;

/// A leader with two members, and one of them; recorded from upstream.
const LEADER: &str = include_str!("../../tests/golden/upstream/leader.yaml");
const MEMBER: &str = include_str!("../../tests/golden/upstream/member.yaml");

struct Lab {
    folder: tempfile::TempDir,
    cluster: Cluster,
}

impl Lab {
    fn new(objects: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("objects")).unwrap();
        std::fs::write(folder.path().join("objects/a.yaml"), objects).unwrap();
        let client = with_tokens(object_files::client(&folder.path().join("objects")).unwrap());
        let cluster = Cluster { client, server: "https://172.18.4.1:6443".to_owned() };
        Self { folder, cluster }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What a command prints; `DIR` in it is a folder.
    async fn run(&self, line: &str) -> String {
        let folder = self.path().display().to_string();
        let line = line.replace("DIR", &folder);
        let words = ["mc"].into_iter().chain(line.split_whitespace());
        let command = match Arguments::try_parse_from(words) {
            Ok(arguments) => arguments.command,
            Err(error) => return error.to_string(),
        };
        let mut out = Vec::new();
        let result = perform(&self.cluster, &command, &mut out).await;
        let mut text = String::from_utf8(out).unwrap().replace(&folder, "DIR");
        match result {
            Ok(code) if code == std::process::ExitCode::SUCCESS => {}
            Ok(_) => text.push_str("(exit 1)\n"),
            Err(error) => text.push_str(&format!("Error: {error:#}\n").replace(&folder, "DIR")),
        }
        text
    }

    async fn names<K: Kind>(&self) -> Vec<String> {
        self.cluster.list::<K>(None).await.unwrap().iter().map(|object| object.name_any()).collect()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }
}

/// Object files know no TokenRequests: these are answered here.
fn with_tokens(files: Client) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let files = files.clone();
        async move {
            if !request.uri().path().ends_with("/token") {
                return files.send(request).await;
            }
            let answer = r#"{"spec": {"audiences": []}, "status": {"token": "new", "expirationTimestamp": "2026-11-28T00:00:00Z"}}"#;
            Ok(Response::new(Body::from(answer.as_bytes().to_vec())))
        }
    });
    Client::new(service, "default")
}

/// A leader before it is one.
const EMPTY: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: kube-root-ca.crt, namespace: antrea-multicluster}
data: {ca.crt: certificates}
";

const INIT: &str = "init -n antrea-multicluster --clusterset cs1 --clusterid leader4 -j DIR/join.yaml";
