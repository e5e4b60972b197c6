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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use tokio::runtime::{Builder, Runtime};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(5);

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

    #[test]
    fn calls_take_no_more_threads_than_the_runtime_may_have_and_are_made_when_none_is_left() {
        let started = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&started);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .on_thread_start(move || _ = count.fetch_add(1, Ordering::SeqCst))
            .build()
            .unwrap();
        let calls = (0..4).map(|_| {
            runtime.spawn(async {
                for _ in 0..1000 {
                    blocking(|| ());
                    tokio::task::yield_now().await;
                }
            })
        });
        calls.collect::<Vec<_>>().into_iter().for_each(|calls| runtime.block_on(calls).unwrap());
        assert!(started.load(Ordering::SeqCst) <= 2);
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
