//! What a server that has gone mad sends does no harm.

use super::any_bytes::follow_stream;
use antrea_damage::Damage;

/// Messages of a real server, with rows of every table that is followed.
const SAMPLES: [&str; 6] = [
    r#"{"id":1,"result":[false,"8e97b81c-74ff-4456-b3f2-17d7f3d8b268",{"Open_vSwitch":{"ed74d06e-832d-47a3-b854-6cce2169e54d":{"initial":{"bridges":["uuid","9cf237dc-832b-4bb2-9253-8e3f7b64ef7f"],"ovs_version":"3.1.0","cur_cfg":7,"external_ids":["map",[["hostname","a"],["system-id","b"]]],"other_config":["map",[["flow-restore-wait","true"]]]}}},"Bridge":{"9cf237dc-832b-4bb2-9253-8e3f7b64ef7f":{"initial":{"name":"br-int","datapath_type":"netdev","fail_mode":"secure","protocols":["set",["OpenFlow10","OpenFlow15"]],"ports":["set",[["uuid","99d3021c-3051-4093-a945-d4d8ab66873a"]]]}}}}],"error":null}"#,
    r#"{"id":null,"method":"update3","params":["Open_vSwitch","8e97b81c-74ff-4456-b3f2-17d7f3d8b268",{"Port":{"99d3021c-3051-4093-a945-d4d8ab66873a":{"insert":{"name":"antrea-gw0","interfaces":["uuid","ed74d06e-832d-47a3-b854-6cce2169e54d"],"external_ids":["map",[["antrea-type","gateway"]]]}}},"Interface":{"ed74d06e-832d-47a3-b854-6cce2169e54d":{"insert":{"name":"antrea-gw0","type":"internal","ofport":32769,"mac":"0a:00:00:00:00:01","mtu_request":1450,"options":["map",[["key","flow"],["remote_ip","flow"]]],"error":["set",[]]}}}}]}"#,
    r#"{"id":null,"method":"update2","params":["Open_vSwitch",{"Interface":{"ed74d06e-832d-47a3-b854-6cce2169e54d":{"modify":{"ofport":["set",[-1]],"error":"no such device"}}},"Port":{"99d3021c-3051-4093-a945-d4d8ab66873a":{"delete":null}}}]}"#,
    r#"{"id":2,"result":[{"count":1},{"uuid":["uuid","99d3021c-3051-4093-a945-d4d8ab66873a"]},{"error":"constraint violation","details":"text"}],"error":null}"#,
    r#"{"id":"echo","method":"echo","params":[]}"#,
    r#"{"id":3,"result":null,"error":{"error":"unknown method","details":"\u0000\"}"}}"#,
];

const WORDS: [&str; 12] = [
    "null",
    "true",
    "-1",
    "1e999",
    "99999999999999999999",
    r#"["set",[]]"#,
    r#"["map",[["#,
    "{",
    "}",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    r#"\ud800"#,
    r#"""#,
];

#[test]
fn damaged_messages_of_a_server_are_read_without_harm() {
    let mut samples: Vec<Vec<u8>> = SAMPLES.iter().map(|sample| sample.as_bytes().to_vec()).collect();
    samples.push(SAMPLES.concat().into_bytes());
    Damage { samples: &samples, words: &WORDS, cases: 50_000 }.each(follow_stream);
}
