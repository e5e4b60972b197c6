//! Jobs side by side: each lane takes the next job that no lane has taken.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Something that takes long and returns a value.
pub(crate) type Job<'a, T> = Box<dyn FnOnce() -> T + Send + 'a>;

/// Runs jobs in so many lanes and returns their values in the order of the jobs.
pub(crate) fn run<T: Send>(lanes: usize, jobs: Vec<Job<'_, T>>) -> Vec<T> {
    let waiting: Mutex<VecDeque<_>> = Mutex::new(jobs.into_iter().enumerate().collect());
    let lane = || {
        let mut values = Vec::new();
        while let Some((number, job)) = next(&waiting) {
            values.push((number, job()));
        }
        values
    };
    let mut values = thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes.max(1)).map(|_| scope.spawn(lane)).collect();
        let joined = lanes.into_iter().map(|lane| lane.join());
        joined
            .flat_map(|values| values.unwrap_or_else(|cause| std::panic::resume_unwind(cause)))
            .collect::<Vec<_>>()
    });
    values.sort_by_key(|(number, _)| *number);
    values.into_iter().map(|(_, value)| value).collect()
}

fn next<J>(waiting: &Mutex<VecDeque<J>>) -> Option<J> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn jobs_of_two_lanes_run_at_the_same_time_and_keep_their_order() {
        let both = &Barrier::new(2);
        let job = |number: u8| -> Job<'_, u8> {
            Box::new(move || {
                both.wait();
                number
            })
        };
        assert_eq!(run(2, vec![job(1), job(2), job(3), job(4)]), [1, 2, 3, 4]);
    }

    #[test]
    fn one_lane_runs_one_job_after_the_other() {
        let running = &Mutex::new(());
        let job = |number: u8| -> Job<'_, u8> {
            Box::new(move || {
                assert!(running.try_lock().is_ok(), "another job runs");
                number
            })
        };
        assert_eq!(run(1, vec![job(1), job(2)]), [1, 2]);
        assert!(run(3, Vec::<Job<'_, u8>>::new()).is_empty());
    }
}
