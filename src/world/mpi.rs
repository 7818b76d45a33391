//! A rank of MPI's world.
//!
//!     training ──words──▶ thread with MPI ══ all-reduce, modulo 2^64 ══ the other ranks
//!              ◀──sums or why not──┘
//!
//! A thread of its own makes all calls of MPI. Beginning and ending wait for every rank, for ever if one is lost, and buffers of an all-reduce
//! that is under way cannot be had back; so the training waits for the thread for a while only, and leaves it behind if it does not answer.

use super::World;
use crate::interrupt;
use ::mpi::Threading;
use ::mpi::collective::SystemOperation;
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator as _, CommunicatorCollectives, Destination, Source};
use sim::train::engine::EngineError;
use sim::train::ranks::Communicator;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use workbench::Failure;

/// What a message from one rank to another is.
const FAILED: i32 = 1;
const ASKS: i32 = 2;
const WAITS: i32 = 3;

/// So many bytes at most are sent without waiting for a receiver, whatever the network.
const SHORT: usize = 1000;

/// How long a rank that has waited enough asks the others whether they wait, too; and how long one that hears of a failure still waits.
const ASKING: Duration = Duration::from_millis(2000);

/// How much later than the thread's own answer is due the training stops waiting for it.
const LATE: Duration = Duration::from_secs(1);

/// How often it looks whether it is to end.
const LOOKS: Duration = Duration::from_millis(50);

/// What the thread with MPI is to do.
enum Order {
    Add(Vec<u64>),
    Tell(String),
    End,
}

/// Why an all-reduce does not end, and whose fault that is.
struct Lost {
    why: String,
    missing: Vec<usize>,
}

type Answer = Result<Vec<u64>, Lost>;

/// The rank of this process.
pub(super) struct Process {
    rank: usize,
    ranks: usize,
    patience: Duration,
    orders: Sender<Order>,
    answers: Receiver<Answer>,
    /// The ranks that are missing, once there are such; nothing is asked of the thread then.
    missing: RefCell<Option<Vec<usize>>>,
}

impl Process {
    /// Begin, together with all others.
    ///
    /// # Errors
    /// MPI cannot be started; some of the others do not come.
    pub(super) fn begin(patience: Duration) -> Result<Process, Failure> {
        let (orders, taken) = channel();
        let (gives, answers) = channel();
        thread::spawn(move || serve(patience, &taken, &gives));
        match answers.recv_timeout(patience) {
            Ok(Ok(place)) => {
                let [rank, ranks] = [place[0] as usize, place[1] as usize];
                Ok(Process { rank, ranks, patience, orders, answers, missing: RefCell::default() })
            }
            Ok(Err(lost)) => Err(Failure::Tool(lost.why)),
            Err(_) => {
                let waited = patience.as_secs_f64();
                Err(Failure::File(format!("the ranks of MPI's world have not all begun within {waited} s")))
            }
        }
    }

    fn order(&self, order: Order) -> Result<Vec<u64>, EngineError> {
        if self.missing.borrow().is_some() || self.orders.send(order).is_err() {
            return Err(EngineError::Device("this rank has lost the others".to_owned()));
        }
        let until = Instant::now() + self.patience + ASKING + LATE;
        let lost = loop {
            match self.answers.recv_timeout(LOOKS) {
                Ok(Ok(words)) => return Ok(words),
                Ok(Err(lost)) => break lost,
                Err(RecvTimeoutError::Disconnected) => {
                    break Lost { why: format!("MPI has failed on rank {}", self.rank), missing: Vec::new() };
                }
                Err(_) if interrupt::requested() => {
                    *self.missing.borrow_mut() = Some(Vec::new());
                    return Err(EngineError::Interrupted);
                }
                Err(_) if Instant::now() < until => {}
                Err(_) => {
                    break Lost { why: format!("MPI does not answer on rank {}", self.rank), missing: Vec::new() };
                }
            }
        };
        *self.missing.borrow_mut() = Some(lost.missing);
        Err(EngineError::Device(lost.why))
    }
}

impl Communicator for Process {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn add(&self, words: &mut [u64]) -> Result<(), EngineError> {
        if !words.is_empty() {
            words.copy_from_slice(&self.order(Order::Add(words.to_vec()))?);
        }
        Ok(())
    }
}

impl World for Process {
    fn tell(&self, why: &str) {
        // Who is lost cannot be told.
        let _ = self.order(Order::Tell(why.to_owned()));
    }

    fn is_first_left(&self) -> bool {
        let missing = self.missing.borrow();
        (0..self.rank).all(|rank| missing.as_ref().is_some_and(|missing| missing.contains(&rank)))
    }

    fn end(&self) -> Result<(), Failure> {
        self.order(Order::End).map(drop).map_err(Failure::from)
    }
}

/// The thread with MPI. It answers how it has begun, then each order.
fn serve(patience: Duration, orders: &Receiver<Order>, answers: &Sender<Answer>) {
    let Some((universe, _)) = ::mpi::initialize_with_threading(Threading::Funneled) else {
        let _ = answers.send(Err(Lost { why: "MPI cannot be started".to_owned(), missing: Vec::new() }));
        return;
    };
    let world = universe.world();
    let mut answer = answers.send(Ok([world.rank(), world.size()].map(|number| number as u64).to_vec()));
    let mut watch = Watch::new(&world, patience);
    while answer.is_ok()
        && let Ok(order) = orders.recv()
    {
        answer = answers.send(Ok(match order {
            Order::Add(words) => {
                watch.begins();
                sum(&words, &mut watch, answers)
            }
            Order::Tell(why) => {
                let short = &why.as_bytes()[..why.len().min(SHORT)];
                others(&world).for_each(|rank| world.process_at_rank(rank).send_with_tag(short, FAILED));
                Vec::new()
            }
            Order::End => {
                drop(universe);
                let _ = answers.send(Ok(Vec::new()));
                return;
            }
        }));
    }
    // Without its end: that would wait for the others.
    std::mem::forget(universe);
}

fn others(world: &SimpleCommunicator) -> impl Iterator<Item = i32> + use<> {
    let own = world.rank();
    (0..world.size()).filter(move |&rank| rank != own)
}

/// The sums of all ranks. It does not return when ranks are lost: that is its answer, and MPI keeps the buffers.
fn sum(words: &[u64], watch: &mut Watch<'_>, answers: &Sender<Answer>) -> Vec<u64> {
    let mut sums = vec![0; words.len()];
    ::mpi::request::scope(|scope| {
        let into = &mut sums[..];
        let mut request = watch.world.immediate_all_reduce_into(scope, words, into, SystemOperation::sum());
        while let Err(unfinished) = request.test() {
            request = unfinished;
            if let Some(lost) = watch.look() {
                let _ = answers.send(Err(lost));
                loop {
                    thread::park();
                }
            }
        }
    });
    sums
}

/// Waiting for the others, call by call.
struct Watch<'w> {
    world: &'w SimpleCommunicator,
    call: u64,
    patience: Duration,
    since: Instant,
    asked: Option<Instant>,
    /// A rank that has said why it ends, and when that came.
    failed: Option<(Instant, i32, Vec<u8>)>,
    /// Others that wait in the same call.
    waiting: BTreeSet<i32>,
}

impl<'w> Watch<'w> {
    fn new(world: &'w SimpleCommunicator, patience: Duration) -> Watch<'w> {
        Watch { world, call: 0, patience, since: Instant::now(), asked: None, failed: None, waiting: BTreeSet::new() }
    }

    /// The next call. A rank that has failed before it is known to have.
    fn begins(&mut self) {
        self.call += 1;
        self.since = Instant::now();
        self.asked = None;
        self.waiting.clear();
    }

    /// A message of any rank, if there is one.
    fn message<T: ::mpi::traits::Equivalence>(&self, tag: i32) -> Option<(i32, Vec<T>)> {
        let rank = self.world.any_process().immediate_probe_with_tag(tag)?.source_rank();
        Some((rank, self.world.process_at_rank(rank).receive_vec_with_tag(tag).0))
    }

    /// Wait a little. Then: is a rank lost?
    fn look(&mut self) -> Option<Lost> {
        // Ranks come at about the same time; who waits for long leaves the core to others.
        let waited = self.since.elapsed();
        if waited < Duration::from_micros(50) {
            thread::yield_now();
        } else {
            thread::sleep((waited / 8).min(Duration::from_millis(1)));
        }
        if let Some((rank, said)) = self.message::<u8>(FAILED) {
            self.failed.get_or_insert((Instant::now(), rank, said));
        }
        // What that rank still took part in comes to its end here, too, and says more.
        if let Some((since, rank, said)) = &self.failed
            && since.elapsed() >= ASKING
        {
            let why = format!("rank {rank} has failed: {}", String::from_utf8_lossy(said));
            return Some(Lost { why, missing: vec![*rank as usize] });
        }
        while let Some((rank, call)) = self.message::<u64>(ASKS) {
            if call == [self.call] {
                self.waiting.insert(rank);
                self.world.process_at_rank(rank).send_with_tag(&call[..], WAITS);
            }
        }
        while let Some((rank, call)) = self.message::<u64>(WAITS) {
            if call == [self.call] {
                self.waiting.insert(rank);
            }
        }
        if waited < self.patience {
            return None;
        }
        let Some(asked) = self.asked else {
            self.asked = Some(Instant::now());
            let call = [self.call];
            others(self.world).for_each(|rank| self.world.process_at_rank(rank).send_with_tag(&call[..], ASKS));
            return None;
        };
        (asked.elapsed() >= ASKING).then(|| self.lost())
    }

    fn lost(&self) -> Lost {
        let missing: Vec<i32> = others(self.world).filter(|rank| !self.waiting.contains(rank)).collect();
        let named = missing.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
        let why = match missing.len() {
            0 => "the ranks wait for each other, and no message arrives".to_owned(),
            _ => format!("rank {} waits for rank {named}, which has ended or hangs", self.world.rank()),
        };
        Lost { why, missing: missing.iter().map(|&rank| rank as usize).collect() }
    }
}
