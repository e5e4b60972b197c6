//! Clients of the Kubernetes API, against a server that answers what it was asked by whom.

use std::net::Ipv4Addr;
use std::path::Path;

use antrea_kit::kube_client::{Access, client};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers one request with an empty object, and gives back its head.
async fn serve_once(listener: TcpListener) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let body = "{\"metadata\":{\"name\":\"default\"}}";
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
    String::from_utf8(head).unwrap()
}

const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: 'http://192.0.2.1:1'}}]
users: [{name: test, user: {token: secret}}]
";

fn access<'a>(kubeconfig: &'a Path, server: Option<&'a str>) -> Access<'a> {
    Access { kubeconfig: Some(kubeconfig), server, user_agent: "antrea-test/1.0" }
}

#[tokio::test]
async fn the_override_goes_before_the_server_of_the_kubeconfig() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    std::fs::write(&kubeconfig, KUBECONFIG).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(serve_once(listener));
    let client = client(access(&kubeconfig, Some(&url))).await.unwrap();
    Api::<Namespace>::all(client).get("default").await.unwrap();
    let head = server.await.unwrap().to_lowercase();
    assert!(head.starts_with("get /api/v1/namespaces/default "), "{head}");
    assert!(head.contains("user-agent: antrea-test/1.0\r\n"), "{head}");
    assert!(head.contains("authorization: bearer secret\r\n"), "{head}");
}

#[tokio::test]
async fn a_kubeconfig_that_is_not_there_is_named() {
    let error = client(access(Path::new("/nonexistent/kubeconfig"), None)).await.err().unwrap();
    assert_eq!(error.to_string(), "cannot use the kubeconfig /nonexistent/kubeconfig");
}
