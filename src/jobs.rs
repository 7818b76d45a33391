//! Several pieces of work at the same time, with results in order.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Do `work(0)`, `work(1)`, ... `work(count - 1)` on at most `jobs` threads, as many as the computer has by default.
pub fn each<T: Send>(count: usize, jobs: Option<usize>, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = jobs.unwrap_or(available).clamp(1, count.max(1));
    if threads == 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(place) = results.get(number) else { break };
                    let result = work(number);
                    *place.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(result);
                }
            });
        }
    });
    let take = |place: Mutex<Option<T>>| place.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.into_iter().filter_map(take).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_are_in_order() {
        for jobs in [None, Some(1), Some(3), Some(100)] {
            assert_eq!(super::each(50, jobs, &|n| n * n), (0..50).map(|n| n * n).collect::<Vec<_>>());
            assert!(super::each(0, jobs, &|n| n).is_empty());
        }
    }
}
