//! Calls that may wait in the kernel or for a disk, made by tasks of a runtime that has other tasks to go on with.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Makes a call that may block: the task that makes it waits, and the runtime goes on with its other tasks.
///
/// The calling thread makes the call, at once: where many Pods come, each change of threads is a wait for a processor. It
/// is the rest of the runtime that changes threads, to one of tokio's pool, which keeps them for the next call. While that
/// has none left, the call is made all the same, and the rest waits for it. Whoever makes calls that are to follow each
/// other, or that many tasks may ask for at once, holds a lock of the runtime meanwhile.
///
/// Without a runtime, or in one with a single thread, it is an ordinary call.
pub fn blocking<T>(call: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(call),
        _ => call(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::Duration;

    use tokio::runtime::{Builder, Runtime};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(5);

    /// For a call that is not to begin: one that begins later is found by its thread.
    const A_WHILE: Duration = Duration::from_millis(100);

    /// A runtime that a single call would stop.
    fn runtime() -> Runtime {
        Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    }

    #[test]
    fn a_call_that_blocks_leaves_the_runtime_answering() {
        let runtime = runtime();
        let (begin, begun) = channel();
        let (end, ended) = channel::<()>();
        let (answer, answered) = channel();
        runtime.spawn(async move {
            blocking(|| {
                begin.send(()).unwrap();
                ended.recv().unwrap_err();
            });
        });
        begun.recv_timeout(PATIENCE).unwrap();
        runtime.spawn(async move { answer.send(()).unwrap() });
        let outcome = answered.recv_timeout(PATIENCE);
        drop(end);
        assert_eq!(outcome, Ok(()), "the other task waits for the call");
    }

    /// The last of the calls that fit finds no thread left for the rest of the runtime.
    #[test]
    fn calls_take_no_more_threads_than_the_runtime_may_have_and_are_made_when_none_is_left() {
        const THREADS: usize = 1 + 3;
        let started = Arc::new(Mutex::new(HashSet::new()));
        let list = Arc::clone(&started);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(THREADS - 1)
            .on_thread_start(move || _ = list.lock().unwrap().insert(thread::current().id()))
            .build()
            .unwrap();
        let (begin, begun) = channel();
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().unwrap();
        let calls = (0..3 * THREADS).map(|_| {
            let (begin, gate) = (begin.clone(), Arc::clone(&gate));
            runtime.spawn(async move {
                blocking(|| {
                    _ = begin.send(thread::current().id());
                    drop(gate.lock());
                });
            })
        });
        let calls: Vec<_> = calls.collect();
        let callers: HashSet<_> = (0..THREADS).map(|_| begun.recv_timeout(PATIENCE).unwrap()).collect();
        assert!(
            begun.recv_timeout(A_WHILE).is_err(),
            "more calls are under way than the runtime may have threads"
        );
        assert_eq!(*started.lock().unwrap(), callers, "calls are made by other threads, too");
        drop(closed);
        calls.into_iter().for_each(|call| runtime.block_on(call).unwrap());
        assert_eq!(*started.lock().unwrap(), callers, "later calls got threads of their own");
    }

    #[test]
    fn a_panic_is_the_end_of_its_task_alone() {
        let runtime = runtime();
        let broken = runtime.spawn(async { blocking(|| panic!("broken")) });
        assert!(runtime.block_on(broken).unwrap_err().is_panic());
        assert_eq!(runtime.block_on(runtime.spawn(async { blocking(|| 1) })).unwrap(), 1);
    }

    #[test]
    fn without_other_threads_it_is_an_ordinary_call() {
        assert_eq!(blocking(|| 1), 1);
        let runtime = Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(async { blocking(|| 2) }), 2);
    }
}
