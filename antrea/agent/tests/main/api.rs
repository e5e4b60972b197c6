//! The agent's API on a Node of its own, asked as antctl in its container asks it.

use std::collections::BTreeSet;

use crate::node::{Node, node};
use crate::takeover::upstream_was_here;

const TOKEN: &str = "run/apiserver/loopback-client-token";

impl Node {
    /// What `curl ARGUMENTS URL` prints, with the status code on the last line.
    fn curl(&self, arguments: &[&str], path: &str) -> (String, String) {
        let mut curl = self.ovs.command("curl");
        let ca = format!("{}/run/apiserver/loopback-ca.crt", self.folder());
        curl.args(["--silent", "--show-error", "--max-time", "20", "--cacert", &ca]);
        curl.args(["--write-out", "\n%{http_code}"]).args(arguments);
        let output = curl.arg(format!("https://127.0.0.1:10350{path}")).output().unwrap();
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let (body, code) = text.rsplit_once('\n').unwrap();
        (code.to_owned(), body.to_owned())
    }

    fn ask(&self, path: &str) -> (String, String) {
        let header = format!("Authorization: Bearer {}", self.read(TOKEN));
        self.curl(&["--header", &header], path)
    }

    fn answer(&self, path: &str) -> serde_json::Value {
        let (code, body) = self.ask(path);
        assert_eq!(code, "200", "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    fn flows(&self, query: &str) -> Vec<String> {
        let answer = self.answer(&format!("/ovsflows{query}"));
        let flows = answer.as_array().unwrap().iter();
        flows.map(|flow| flow["flow"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn the_api_tells_its_own_pod_everything_and_others_nothing_but_health() {
    let Some(mut node) = node("the_api_tells_its_own_pod_everything_and_others_nothing_but_health") else {
        return;
    };
    upstream_was_here(&mut node);
    node.start_agent();
    nobody_else_is_answered(&node);
    versions_gates_and_levels(&node);
    pods_and_their_agent(&node);
    metrics_are_what_there_is(&node);
    flows_are_those_of_ovs_ofctl(&node);
    packets_are_traced(&node);
    node.stop_agent("TERM");
}

fn nobody_else_is_answered(node: &Node) {
    for path in ["/healthz", "/livez"] {
        assert_eq!(node.curl(&[], path), ("200".to_owned(), "ok".to_owned()), "{path}");
    }
    let (code, body) = node.curl(&[], "/readyz");
    assert_eq!(code, "500", "there is no antrea-controller");
    assert!(body.contains("[+]pod-network ok\n[-]watcher failed: reason withheld"), "{body}");
    let (_, body) = node.ask("/readyz");
    assert!(body.contains("[-]watcher failed: some watches"), "{body}");
    for path in ["/agentinfo", "/metrics", "/ovsflows", "/version", "/nothing"] {
        let (code, body) = node.curl(&[], path);
        assert_eq!(code, "401", "{path}");
        assert!(body.contains(r#""reason":"Unauthorized""#), "{body}");
        let (code, _) = node.curl(&["--header", "Authorization: Bearer nonsense"], path);
        assert_eq!(code, "503", "{path}: object files know no tokens");
    }
    assert_eq!(node.ask("/nothing").0, "404");
    let mode = node.sh(&format!("stat -c %a {}/{TOKEN}", node.folder()));
    assert_eq!(mode.trim(), "600");
}

fn versions_gates_and_levels(node: &Node) {
    let version = node.answer("/version");
    assert_eq!(version["gitVersion"], concat!("v", env!("CARGO_PKG_VERSION")));
    assert!(node.answer("/featuregates").as_array().unwrap().len() > 30);
    assert_eq!(node.answer("/loglevel"), 0);
    let header = format!("Authorization: Bearer {}", node.read(TOKEN));
    let put =
        |query: &str| node.curl(&["--request", "PUT", "--header", &header], &format!("/loglevel{query}")).0;
    assert_eq!(put("?level=4"), "200");
    assert_eq!(node.answer("/loglevel"), 4);
    assert_eq!(put("?level=11"), "400");
    node.wait_for("lines of level 4", |node| node.read("agent.log").contains("DEBUG"));
    assert_eq!(node.ask("/loglevel?level=0").0, "200", "as upstream's antctl does");
    assert_eq!(node.answer("/loglevel"), 0);
    assert_eq!(node.curl(&["--request", "POST", "--header", &header], "/agentinfo").0, "405");
}

fn pods_and_their_agent(node: &Node) {
    let info = node.answer("/agentinfo");
    assert_eq!(info["nodeRef"]["name"], "node-a");
    assert_eq!(info["localPodNum"], 2);
    assert_eq!(info["ovsInfo"]["bridgeName"], "br-int");
    assert!(info.get("apiCABundle").is_none() && info.get("metadata").is_none());
    let interfaces = node.answer("/podinterfaces");
    assert_eq!(interfaces.as_array().unwrap().len(), 2);
    let uuid = node.ovs.vsctl(["get", "Port", "a-dc4592", "_uuid"]).unwrap();
    assert_eq!(interfaces[0]["portUUID"], uuid.trim());
    assert_eq!(node.answer("/podinterfaces?namespace=team-y")[0]["name"], "b");
    assert_eq!(node.ask("/podinterfaces?name=z").0, "404");
}

fn metrics_are_what_there_is(node: &Node) {
    let (code, page) = node.ask("/metrics");
    assert_eq!(code, "200", "{page}");
    let value = |metric: &str| {
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("antrea_agent_{metric} ")));
        line.map(|value| value.parse::<f64>().unwrap())
    };
    let flows = node.flows("").len();
    assert_eq!(value("local_pod_count"), Some(2.0), "{page}");
    assert_eq!(value("ovs_total_flow_count"), Some(flows as f64));
    let table = "ovs_flow_count{table_id=\"0\",table_name=\"PipelineRootClassifier\"}";
    assert_eq!(value(table), Some(node.flows("?table=0").len() as f64));
    assert!(value("ovs_flow_ops_count{operation=\"add\"}") >= Some(1.0), "{page}");
    assert_eq!(value("networkpolicy_count"), Some(0.0));
}

/// Without what changes from one look to the next.
fn without_counters(line: &str) -> String {
    let counters = ["duration=", "n_packets=", "n_bytes=", "idle_age="];
    let words =
        line.trim().split(' ').filter(|word| !counters.iter().any(|counter| word.starts_with(counter)));
    words.collect::<Vec<_>>().join(" ")
}

fn flows_are_those_of_ovs_ofctl(node: &Node) {
    let socket = node.ovs.management_socket("br-int").display().to_string();
    let printed = node.ovs.ofctl(["--names", "dump-flows", &socket]).unwrap();
    let wanted: BTreeSet<String> =
        printed.lines().filter(|line| line.contains("cookie=")).map(without_counters).collect();
    let flows = node.flows("");
    assert!(flows[0].starts_with("cookie=0x2000000000000, duration="), "{}", flows[0]);
    assert_eq!(flows.iter().map(|flow| without_counters(flow)).collect::<BTreeSet<_>>(), wanted);
    let output = node.flows("?table=Output,0");
    assert!(
        output
            .iter()
            .all(|flow| flow.contains("table=Output,") || flow.contains("table=PipelineRootClassifier,"))
    );
    let of_pod = node.flows("?pod=a&namespace=team-x");
    let is_of_pod =
        |flow: &String| ["a-dc4592", "f6:f3:e5:36:f9:32", "10.11.0.3"].iter().any(|own| flow.contains(own));
    assert!(of_pod.len() == 8 && of_pod.iter().all(is_of_pod), "{of_pod:#?}");
    assert!(node.flows("?table-names-only").contains(&"ARPResponder".to_owned()));
    assert_eq!(node.flows("?groups=all"), Vec::<String>::new());
    assert_eq!(node.ask("/ovsflows?pod=z&namespace=team-x").0, "404");
    assert_eq!(node.ask("/ovsflows?service=s&namespace=team-x").0, "404");
    assert_eq!(node.ask("/ovsflows?table=NoTable").0, "400");
}

fn packets_are_traced(node: &Node) {
    let trace = |query: &str| {
        let answer = node.answer(&format!("/ovstracing?{query}"));
        answer["result"].as_str().unwrap().to_owned()
    };
    let between = trace("source=team-x/a&destination=team-y/b&flow=tcp,tcp_dst=80");
    assert!(between.contains("in_port=\"a-dc4592\"") || between.contains("in_port=2,"), "{between}");
    assert!(
        between.contains("Datapath actions:") && !between.contains("Datapath actions: drop"),
        "{between}"
    );
    let outside = trace("source=team-x/a&destination=192.0.2.1");
    assert!(outside.contains("output port is 32769"), "{outside}");
    let spoofed = trace("port=team-x/a&source=10.11.0.4&destination=192.0.2.1");
    assert!(spoofed.contains("Datapath actions: drop"), "{spoofed}");
    let wrong = trace("source=team-x/a&flow=no_such_field=1");
    assert!(wrong.contains("no_such_field"), "{wrong}");
    assert_eq!(node.ask("/ovstracing?source=team-x/nobody").0, "404");
    assert_eq!(node.ask("/ovstracing?source=a/b/c").0, "400");
}
