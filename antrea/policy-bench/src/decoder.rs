//! Objects are made in a thread of their own, as the tasks of watches decode them, a few ahead of the index.

use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use crate::objects::{self, Object};
use crate::workloads::Workload;

/// Objects that are handed over at once.
const CHUNK: usize = 128;

/// Chunks that are ready before the index takes them.
const AHEAD: usize = 4;

/// Hands on each object of a workload. It goes back to the thread that it came from, to be filled
/// anew.
pub(crate) fn each_object(workload: Workload, mut take: impl FnMut(&Object)) {
    let (sender, objects) = sync_channel::<Vec<Object>>(AHEAD);
    let (used, returned) = channel::<Vec<Object>>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut chunk = Vec::with_capacity(CHUNK);
            objects::make(workload, &mut |object, used| {
                chunk.push(object);
                if chunk.len() == CHUNK {
                    // Nobody receives only when the process ends.
                    let _ = sender.send(std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK)));
                    returned.try_iter().flatten().for_each(|object| used.give_back(object));
                }
            });
            let _ = sender.send(chunk);
        });
        for chunk in objects {
            chunk.iter().for_each(&mut take);
            // The maker may have ended.
            let _ = used.send(chunk);
        }
    });
}
