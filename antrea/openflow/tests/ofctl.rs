//! `ovs-ofctl` as the judge: it prints our bytes, and sends its own to a switch that only listens.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use antrea_openflow::message::{
    BundleControl, BundleStep, Hello, More, MultipartReply, MultipartRequest, ReplyBody,
};
use antrea_openflow::{Message, Xid, frame_length};

/// Whether `ovs-ofctl` is there; says so if not.
pub(crate) fn available(test: &str) -> bool {
    let found = Command::new("ovs-ofctl").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        println!("SKIPPED {test}: there is no ovs-ofctl on this machine");
    }
    found
}

/// The bytes of a message.
pub(crate) fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(Xid(1), &mut bytes).unwrap();
    bytes
}

/// What `ovs-ofctl` prints for a message, without the name of its type.
pub(crate) fn print(message: &Message) -> String {
    print_bytes(&encoded(message))
}

/// What `ovs-ofctl` prints for bytes, without the name of their type.
pub(crate) fn print_bytes(bytes: &[u8]) -> String {
    let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let output = Command::new("ovs-ofctl").args(["ofp-print", &hexadecimal]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    match text.split_once("(xid=0x1):") {
        Some((_, text)) => text.trim().to_owned(),
        None => format!("{text}{errors}"),
    }
}

/// Removes the socket at the end, panic or not.
struct SocketPath(PathBuf);

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The changes that `ovs-ofctl COMMAND SWITCH ARGUMENTS` sends, given `input`.
pub(crate) fn sent_by(command: &str, arguments: &[&str], input: &str) -> Vec<Message> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("antrea-openflow-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = SocketPath(std::env::temp_dir().join(name));
    let listener = UnixListener::bind(&path.0).unwrap();
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let switch = scope.spawn(|| listen(&listener, &finished));
        let target = format!("unix:{}", path.0.display());
        let mut child = Command::new("ovs-ofctl")
            .args(["--timeout=20", "--no-names", "-O", "OpenFlow15", command, &target])
            .args(arguments)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        finished.store(true, Ordering::Release);
        drop(UnixStream::connect(&path.0));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ovs-ofctl {command}: {errors}");
        switch.join().unwrap()
    })
}

/// Takes connections until the last one, which only ends the listening.
fn listen(listener: &UnixListener, finished: &AtomicBool) -> Vec<Message> {
    let mut changes = Vec::new();
    for stream in listener.incoming() {
        serve(stream.unwrap(), &mut changes);
        if finished.load(Ordering::Acquire) {
            break;
        }
    }
    changes
}

fn serve(mut stream: UnixStream, changes: &mut Vec<Message>) {
    if stream.write_all(&encoded(&Message::Hello(Hello::default()))).is_err() {
        return;
    }
    let mut buffer = Vec::new();
    let mut chunk = [0; 65536];
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        buffer.extend_from_slice(&chunk[..count]);
        while let Some(length) = frame_length(&buffer).unwrap().filter(|length| *length <= buffer.len()) {
            let frame: Vec<u8> = buffer.drain(..length).collect();
            let (xid, message) = Message::decode(&frame).unwrap();
            match reply(&message) {
                Some(reply) => {
                    let mut bytes = Vec::new();
                    reply.encode(xid, &mut bytes).unwrap();
                    stream.write_all(&bytes).unwrap();
                }
                None => changes.push(message),
            }
        }
    }
}

/// What a switch would answer; nothing to changes.
fn reply(message: &Message) -> Option<Message> {
    let part = |body| Some(Message::MultipartReply(MultipartReply { more: More::Last, body }));
    match message {
        Message::EchoRequest(bytes) => Some(Message::EchoReply(bytes.clone())),
        Message::BarrierRequest => Some(Message::BarrierReply),
        Message::MultipartRequest(MultipartRequest::Ports(_)) => part(ReplyBody::Ports(Vec::new())),
        Message::MultipartRequest(MultipartRequest::TableFeatures(_)) => {
            part(ReplyBody::TableFeatures(Vec::new()))
        }
        Message::BundleControl(control) => {
            let step = match control.step {
                BundleStep::OpenRequest => BundleStep::OpenReply,
                BundleStep::CommitRequest => BundleStep::CommitReply,
                other => other,
            };
            Some(Message::BundleControl(BundleControl { step, ..*control }))
        }
        _ => None,
    }
}

/// The changes but for greetings.
pub(crate) fn changes_by(command: &str, arguments: &[&str], input: &str) -> Vec<Message> {
    let mut changes = sent_by(command, arguments, input);
    changes.retain(|message| !matches!(message, Message::Hello(_)));
    changes
}
