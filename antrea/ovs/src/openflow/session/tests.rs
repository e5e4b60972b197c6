//! A session with a switch that does what a real one does rarely.

use std::sync::Arc;

use antrea_openflow::message::PacketIn;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinHandle;

use super::*;
use crate::openflow::channel::Channel;
use crate::openflow::connection::Unasked;
use crate::openflow::error::OpenFlowError;

/// The other end of the socket.
struct FakeSwitch {
    socket: UnixStream,
    received: Vec<u8>,
}

impl FakeSwitch {
    async fn send(&mut self, xid: u32, message: &Message) {
        let mut bytes = Vec::new();
        message.encode(Xid(xid), &mut bytes).unwrap();
        self.socket.write_all(&bytes).await.unwrap();
    }

    async fn receive(&mut self) -> (u32, Message) {
        loop {
            if let Some(length) =
                frame_length(&self.received).unwrap().filter(|length| *length <= self.received.len())
            {
                let frame: Vec<u8> = self.received.drain(..length).collect();
                let (xid, message) = Message::decode(&frame).unwrap();
                return (xid.0, message);
            }
            assert_ne!(self.socket.read_buf(&mut self.received).await.unwrap(), 0, "the session is over");
        }
    }

    /// Says hello, and answers the barrier that ends the greeting.
    async fn greet(&mut self) {
        self.send(1, &Message::Hello(Hello::default())).await;
        loop {
            let (xid, message) = self.receive().await;
            if message == Message::BarrierRequest {
                return self.send(xid, &Message::BarrierReply).await;
            }
        }
    }
}

/// What a test deals with: the switch, what it is asked over, what comes unasked, and the end of the session with the
/// number of messages that were dropped.
type Parts = (FakeSwitch, Channel, Unasked, JoinHandle<(Ended, u64)>);

async fn session() -> Parts {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut switch = FakeSwitch { socket: theirs, received: Vec::new() };
    let (queues, unasked) = Queues::new();
    let (channel, batches) = Channel::new(1, Arc::default());
    let task = tokio::spawn(async move {
        let mut session = Session::new(ours, &queues);
        let ended = match session.shake_hands().await {
            Ok(()) => session.serve(batches).await,
            Err(ended) => ended,
        };
        drop(session);
        (ended, queues.dropped())
    });
    switch.greet().await;
    (switch, channel, unasked, task)
}

#[tokio::test(start_paused = true)]
async fn a_switch_that_answers_no_probe_is_dead() {
    let (mut switch, channel, _unasked, task) = session().await;
    let start = Instant::now();
    let asked = tokio::spawn(async move { channel.barrier().await });
    let (ended, _) = task.await.unwrap();
    assert_eq!(ended.to_string(), "the switch gave no sign of life for 3 probes");
    assert_eq!(start.elapsed().as_secs(), 20);
    assert!(matches!(asked.await.unwrap(), Err(OpenFlowError::ConnectionLost)));
    assert_eq!(switch.receive().await.1, Message::BarrierRequest);
    assert_eq!(switch.receive().await, (0, Message::EchoRequest(Vec::new())));
}

#[tokio::test(start_paused = true)]
async fn a_switch_that_answers_probes_lives() {
    let (mut switch, _channel, _unasked, task) = session().await;
    for _ in 0..10 {
        let (xid, message) = switch.receive().await;
        assert_eq!(message, Message::EchoRequest(Vec::new()));
        switch.send(xid, &Message::EchoReply(Vec::new())).await;
    }
    drop(switch);
    assert_eq!(task.await.unwrap().0.to_string(), "the switch closed the connection");
}

/// As after the machine slept: probes that were missed are not sent all at once.
#[tokio::test(start_paused = true)]
async fn a_switch_has_time_to_answer_after_a_session_was_held_up() {
    let (mut switch, _channel, _unasked, task) = session().await;
    assert_eq!(switch.receive().await.1, Message::EchoRequest(Vec::new()));
    tokio::time::advance(Duration::from_secs(60)).await;
    let start = Instant::now();
    task.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 10, "it has the time of the probes that are left");
}

#[tokio::test]
async fn the_probe_of_the_switch_is_answered_in_kind() {
    let (mut switch, _channel, _unasked, _task) = session().await;
    switch.send(77, &Message::EchoRequest(vec![1, 2])).await;
    assert_eq!(switch.receive().await, (77, Message::EchoReply(vec![1, 2])));
}

#[tokio::test]
async fn packets_that_nobody_reads_are_dropped_and_counted() {
    let (mut switch, _channel, mut unasked, task) = session().await;
    for number in 0..1030_u32 {
        let packet = PacketIn { packet: number.to_be_bytes().to_vec(), ..PacketIn::default() };
        switch.send(0, &Message::PacketIn(Box::new(packet))).await;
    }
    drop(switch);
    assert_eq!(task.await.unwrap().1, 6);
    assert_eq!(unasked.packet_ins.recv().await.unwrap().packet, [0, 0, 0, 0], "the oldest are kept");
}

#[tokio::test]
async fn a_reply_that_cannot_be_read_fails_its_request_and_no_other() {
    let (mut switch, channel, _unasked, _task) = session().await;
    let asked = tokio::spawn(async move { (channel.port_desc().await, channel.barrier().await) });
    let (xid, _) = switch.receive().await;
    let [a, b, c, d] = xid.to_be_bytes();
    // A multipart reply that ends before it says of what.
    switch.socket.write_all(&[6, 19, 0, 9, a, b, c, d, 0]).await.unwrap();
    let (xid, _) = switch.receive().await;
    switch.send(xid, &Message::BarrierReply).await;
    let (ports, barrier) = asked.await.unwrap();
    assert_eq!(ports.unwrap_err().to_string(), "the switch did not take a request for ports");
    barrier.unwrap();
}

#[tokio::test]
async fn a_switch_of_another_version_is_refused() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut switch = FakeSwitch { socket: theirs, received: Vec::new() };
    switch.send(1, &Message::Hello(Hello { version: 4, versions: Some(1 << 1 | 1 << 4) })).await;
    let (queues, _unasked) = Queues::new();
    let ended = Session::new(ours, &queues).shake_hands().await.unwrap_err();
    assert!(ended.to_string().starts_with("the switch does not speak OpenFlow 1.5"), "{ended}");
}
