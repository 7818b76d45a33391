//! Ranks of one process: a thread each, which meet at every call.
//!
//!     rank 0 ──say──▶ ┌───────┐
//!     rank 1 ──say──▶ │ round │ ── when all have spoken ──▶ every rank hears all, the last one clears it
//!     rank 2 ──say──▶ └───────┘

use super::Communicator;
use crate::train::engine::EngineError;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is said at the end of others that do not come: less than why they do not.
pub const LOST: &str = "which has ended or hangs";

/// One round of a meeting.
#[derive(Debug, Default)]
struct Round {
    said: Vec<Option<Arc<[u64]>>>,
    /// Ranks that have not heard it yet; 0: the round is open.
    hears: usize,
    /// Ranks that will not come any more.
    gone: Vec<usize>,
}

#[derive(Debug, Default)]
struct Meeting {
    round: Mutex<Round>,
    changed: Condvar,
}

/// One rank. When it is dropped, the others stop waiting for it.
#[derive(Debug)]
pub struct Thread {
    meeting: Arc<Meeting>,
    rank: usize,
    ranks: usize,
    patience: Duration,
}

/// So many ranks, which wait so long for each other.
pub fn threads(ranks: usize, patience: Duration) -> Vec<Thread> {
    let meeting = Arc::new(Meeting::default());
    meeting.round.lock().unwrap_or_else(PoisonError::into_inner).said.resize(ranks, None);
    (0..ranks).map(|rank| Thread { meeting: Arc::clone(&meeting), rank, ranks, patience }).collect()
}

impl Thread {
    fn lost(&self, round: &Round) -> EngineError {
        let silent = |rank: &usize| round.said[*rank].is_none();
        let gone: Vec<usize> = round.gone.iter().copied().filter(silent).collect();
        // Others may be silent because they have not come so far.
        let missing = if gone.is_empty() { (0..self.ranks).filter(silent).collect() } else { gone };
        let missing = missing.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        EngineError::Device(format!("rank {} waits for rank {missing}, {LOST}", self.rank))
    }

    /// Say something, and hear what every rank says, in their order.
    fn meet(&self, own: Arc<[u64]>) -> Result<Vec<Arc<[u64]>>, EngineError> {
        let until = Instant::now() + self.patience;
        let mut round = self.meeting.round.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = Some(own);
        loop {
            if own.is_some() && round.hears == 0 {
                round.said[self.rank] = own.take();
                if round.said.iter().all(Option::is_some) {
                    round.hears = self.ranks;
                    self.meeting.changed.notify_all();
                }
            }
            if own.is_none() && round.hears > 0 {
                let all = round.said.iter().flatten().map(Arc::clone).collect();
                round.hears -= 1;
                if round.hears == 0 {
                    round.said.fill(None);
                    self.meeting.changed.notify_all();
                }
                return Ok(all);
            }
            let left = until.saturating_duration_since(Instant::now());
            let waits_in_vain = round.hears == 0 && round.gone.iter().any(|&rank| round.said[rank].is_none());
            if left.is_zero() || waits_in_vain {
                return Err(self.lost(&round));
            }
            round = self.meeting.changed.wait_timeout(round, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Communicator for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn add(&self, words: &mut [u64]) -> Result<(), EngineError> {
        for (rank, said) in self.meet((&*words).into())?.iter().enumerate() {
            if rank != self.rank {
                words.iter_mut().zip(&**said).for_each(|(word, other)| *word = word.wrapping_add(*other));
            }
        }
        Ok(())
    }

    fn exchange(&self, own: Vec<u64>, _: &[usize]) -> Result<Vec<Arc<[u64]>>, EngineError> {
        self.meet(own.into())
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.meeting.round.lock().unwrap_or_else(PoisonError::into_inner).gone.push(self.rank);
        self.meeting.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each<T: Send>(ranks: Vec<Thread>, what: impl Fn(Thread) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let what = &what;
            let threads: Vec<_> = ranks.into_iter().map(|rank| scope.spawn(move || what(rank))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn every_rank_hears_all_of_every_round() {
        for count in [1, 2, 5] {
            let sums = each(threads(count, Duration::from_secs(20)), |rank| {
                for round in 0..300u64 {
                    let mut words = [round];
                    rank.add(&mut words).unwrap();
                    assert_eq!(words[0], round * rank.ranks() as u64);
                    assert_eq!(rank.of_first(&[rank.rank() as u8 + 7]).unwrap(), [7]);
                }
                let mut words = [1, u64::MAX, rank.rank() as u64];
                rank.add(&mut words).unwrap();
                words
            });
            let n = count as u64;
            assert!(sums.iter().all(|sum| *sum == [n, 0u64.wrapping_sub(n), n * (n - 1) / 2]), "{sums:?}");
        }
    }

    /// As it is made of additions where ranks have no way of their own.
    struct Adding(Thread);

    impl Communicator for Adding {
        fn rank(&self) -> usize {
            self.0.rank()
        }
        fn ranks(&self) -> usize {
            self.0.ranks()
        }
        fn add(&self, words: &mut [u64]) -> Result<(), EngineError> {
            self.0.add(words)
        }
    }

    #[test]
    fn words_and_bytes_of_every_rank_come_in_their_order() {
        let counts = [2, 0, 3];
        let (words, bytes) = ([vec![1, u64::MAX], vec![], vec![7, 0, 9]], ["left", "", "from here to there"]);
        each(threads(3, Duration::from_secs(20)), |rank| {
            let own = words[rank.rank()].clone();
            let all = |said: Vec<Arc<[u64]>>| said.iter().map(|words| words.to_vec()).collect::<Vec<_>>();
            assert_eq!(all(rank.exchange(own.clone(), &counts).unwrap()), words);
            assert_eq!(rank.gather(bytes[rank.rank()].as_bytes()).unwrap(), bytes.map(|text| text.as_bytes().to_vec()));
            let rank = Adding(rank);
            assert_eq!(all(rank.exchange(own, &counts).unwrap()), words);
            assert_eq!(rank.gather(bytes[rank.rank()].as_bytes()).unwrap(), bytes.map(|text| text.as_bytes().to_vec()));
        });
    }

    #[test]
    fn a_rank_that_ends_or_hangs_is_named() {
        let said = |late: Duration, patience: Duration| {
            each(threads(3, patience), |rank| {
                if rank.rank() == 1 {
                    std::thread::sleep(late);
                    return None;
                }
                rank.gather(&[]).err().map(|error| error.to_string())
            })
        };
        let expected = |rank| Some(format!("rank {rank} waits for rank 1, which has ended or hangs"));
        assert_eq!(said(Duration::ZERO, Duration::from_mins(1)), [expected(0), None, expected(2)]);
        let hangs = said(Duration::from_millis(600), Duration::from_millis(100));
        assert!(hangs[0].is_some() && hangs[2].is_some(), "{hangs:?}");
    }
}
