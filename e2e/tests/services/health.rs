//! What load balancers ask Nodes: the healthCheckNodePort of a Service, and how the proxy is.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::network::Network;
use super::objects::{self, Condition, Endpoint};
use super::stage::{Stage, on_the_stage};

const PATIENCE: Duration = Duration::from_secs(3);

/// Where kube-proxy says how it is, and AntreaProxy in its place.
const HEALTHZ: u16 = 10256;

#[test]
fn a_health_check_node_port_tells_which_nodes_have_local_endpoints() {
    on_the_stage("a_health_check_node_port_tells_which_nodes_have_local_endpoints", |stage| {
        let spec = json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Local" });
        let service = stage.service("health", &spec)?;
        let [a, b, c, _] = stage.servers.map(Endpoint::ready);
        objects::apply_slices(stage.api, service.name()?, "a", &[a.clone(), b])?;
        ensure_counts(stage, &service.object, [2, 0])?;
        objects::apply_slices(stage.api, service.name()?, "a", &[a, c])?;
        ensure_counts(stage, &service.object, [1, 1])?;
        // Traffic still goes to what is on its way out, but no load balancer shall begin with it.
        let leaving = Endpoint::of(stage.servers[2], Condition::TerminatingAndServing);
        objects::apply_slices(stage.api, service.name()?, "a", &[leaving])?;
        ensure_counts(stage, &service.object, [0, 0])
    });
}

#[test]
fn a_health_check_node_port_is_closed_when_its_service_goes() {
    on_the_stage("a_health_check_node_port_is_closed_when_its_service_goes", |stage| {
        let spec = json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Local" });
        let service = stage.service("health-no-more", &spec)?;
        ensure_counts(stage, &service.object, [0, 0])?;
        let port = health_check_node_port(&service.object)?;
        stage.api.delete(&service.object)?;
        for ip in stage.here.ips.iter() {
            stage.until("a health check to be refused", || {
                let answer = get(&stage.outside, *ip, port, "/");
                ensure!(answer.is_err(), "{answer:?}");
                Ok(())
            })?;
        }
        Ok(())
    });
}

#[test]
fn the_proxy_tells_that_it_is_well() {
    on_the_stage("the_proxy_tells_that_it_is_well", |stage| {
        for host in [&stage.here, &stage.there] {
            for ip in host.ips.iter() {
                let Page { status, body, .. } = get(&stage.outside, *ip, HEALTHZ, "/healthz")?;
                let body: Value = serde_json::from_str(&body).context("no JSON")?;
                ensure!(status == 200, "{status}: {body}");
                ensure!(body["lastUpdated"].is_string() && body["currentTime"].is_string(), "{body}");
            }
        }
        Ok(())
    });
}

/// What the healthCheckNodePort of each Node says of its endpoints.
fn ensure_counts(stage: &Stage<'_>, service: &Value, counts: [u64; 2]) -> Result<()> {
    let port = health_check_node_port(service)?;
    for (host, count) in [&stage.here, &stage.there].into_iter().zip(counts) {
        let status = if count == 0 { 503 } else { 200 };
        for ip in host.ips.iter() {
            stage.until(&format!("{ip} to have {count} local endpoints"), || {
                let page = get(&stage.outside, *ip, port, "/")?;
                let body: Value = serde_json::from_str(&page.body).context("no JSON")?;
                let name = &service["metadata"]["name"];
                ensure!(page.status == status && body["localEndpoints"] == count, "{}: {body}", page.status);
                ensure!(body["service"] == json!({ "namespace": "default", "name": name }), "{body}");
                ensure!(
                    page.header("x-load-balancing-endpoint-weight") == Some(count.to_string().as_str()),
                    "{page:?}"
                );
                Ok(())
            })?;
        }
    }
    Ok(())
}

fn health_check_node_port(service: &Value) -> Result<u16> {
    let port = service["spec"]["healthCheckNodePort"].as_u64().and_then(|port| u16::try_from(port).ok());
    port.context("a Service without a healthCheckNodePort")
}

/// An answer over HTTP.
#[derive(Debug)]
struct Page {
    status: u16,
    head: String,
    body: String,
}

impl Page {
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

fn get(from: &Network, ip: IpAddr, port: u16, path: &str) -> Result<Page> {
    let address = SocketAddr::new(ip, port);
    let text = from.within(|| {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE).context("cannot connect")?;
        stream.set_read_timeout(Some(PATIENCE)).context("no timeout")?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").context("cannot ask")?;
        let mut text = String::new();
        stream.read_to_string(&mut text).context("no answer")?;
        Ok(text)
    })?;
    let (head, body) = text.split_once("\r\n\r\n").with_context(|| format!("no HTTP: {text}"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Page { status: status.context("no status")?, head: head.to_owned(), body: body.to_owned() })
}
