//! The host's end, with the other end played by the test.

use super::super::board::tests::{Plain, Watched};
use super::*;
use crate::link::BoardModel;

/// What the other end answers to a request.
type Answer = Box<dyn FnMut(&[u8]) -> Vec<Vec<u8>>>;

/// The other end: it answers one request each time the host waits.
struct Peer {
    decoder: Decoder,
    /// Requests, sequence and command first.
    heard: Vec<Vec<u8>>,
    waiting: VecDeque<Vec<u8>>,
    /// Requests that waited at the same time.
    most: usize,
    answer: Answer,
    back: VecDeque<u8>,
    /// So often nothing comes at first.
    late: usize,
}

impl Peer {
    fn new(answer: impl FnMut(&[u8]) -> Vec<Vec<u8>> + 'static) -> Peer {
        let decoder = Decoder::of_requests(Size::MOST);
        let (heard, waiting, back) = (Vec::new(), VecDeque::new(), VecDeque::new());
        Peer { decoder, heard, waiting, most: 0, answer: Box::new(answer), back, late: 0 }
    }

    fn commands(&self) -> Vec<u8> {
        self.heard.iter().map(|request| request[1]).collect()
    }

    fn sequences(&self) -> Vec<u8> {
        self.heard.iter().map(|request| request[0]).collect()
    }
}

impl Wire for Peer {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        for request in bytes.iter().filter_map(|&byte| self.decoder.byte(byte)) {
            let Received::Frame(request) = request else { panic!("the host sends {request:?}") };
            self.heard.push(request.clone());
            self.waiting.push_back(request);
        }
        self.most = self.most.max(self.waiting.len());
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        if self.late > 0 {
            self.late -= 1;
            return Ok(0);
        }
        if self.back.is_empty()
            && let Some(request) = self.waiting.pop_front()
        {
            self.back.extend((self.answer)(&request).concat());
        }
        let count = self.back.len().min(buffer.len());
        buffer.iter_mut().zip(self.back.drain(..count)).for_each(|(place, byte)| *place = byte);
        Ok(count)
    }
}

/// A reply on the line.
fn reply(sequence: u8, status: Status, payload: &[u8]) -> Vec<u8> {
    link::encode(&[&[sequence, status as u8, 0x02, 0x01, 0x04, 0x03][..], payload].concat())
}

/// As registers, addresses come back.
fn ok(request: &[u8]) -> Vec<Vec<u8>> {
    let payload = if request[1] == Command::Read as u8 { &request[2..] } else { &[] };
    vec![reply(request[0], Status::Ok, payload)]
}

fn damaged(request: &[u8]) -> Vec<Vec<u8>> {
    let mut frame = reply(request[0], Status::Ok, &[]);
    frame[3] ^= 1;
    vec![frame]
}

fn link(attempts: u32, answer: impl FnMut(&[u8]) -> Vec<Vec<u8>> + 'static) -> Link<Peer> {
    let patience = Patience { reply: Duration::from_millis(5), attempts, ..Patience::default() };
    Link { size: Size::MOST, ..Link::new(Peer::new(answer), patience) }
}

/// Replies to earlier and later requests, a damaged and a short one among them, come before the right one.
#[test]
fn only_the_reply_to_this_request_is_taken() {
    let value = |sequence: u8, value: u8| reply(sequence, Status::Ok, &[value, 0, 0, 0]);
    let mut link = link(1, move |request| {
        let mut damaged = value(8, 13);
        damaged[3] ^= 1;
        let short = link::encode(&[8, Status::Ok as u8]);
        assert_eq!(request[0], 8);
        vec![value(7, 11), value(9, 12), damaged, short, value(8, 14), value(8, 15)]
    });
    link.sequence = 7;
    assert_eq!(link.read(&[0]), Ok(vec![14]));
}

#[test]
fn levels_are_those_of_the_last_answer() {
    let mut link = link(1, ok);
    assert_eq!((link.levels(), link.words_per_frame()), ([0, 0], 2048));
    link.write(&[(1, 2)]).and_then(|()| link.finish()).expect("an answer");
    assert_eq!(link.levels(), [0x0102, 0x0304]);
    link.levels = [0; 2];
    link.read(&[7]).expect("an answer");
    assert_eq!(link.levels(), [0x0102, 0x0304]);
}

/// By hand: 32 requests, or 8,192 bytes of payload, or one request.
#[test]
fn so_many_requests_are_under_way() {
    for (bytes, most) in [(1, 32), (256, 32), (257, 31), (2730, 3), (2731, 2), (4096, 2), (4097, 1)] {
        let mut link = link(1, ok);
        link.wire.decoder = Decoder::new(10_000);
        for _ in 0..40 {
            link.begin(Command::Write, &vec![0; bytes], 0).expect("an answer");
        }
        link.finish().expect("all answers");
        assert_eq!((link.wire.most, link.wire.heard.len()), (most, 40), "{bytes} bytes");
    }
    let mut link = link(1, ok);
    link.wire.decoder = Decoder::new(10_000);
    link.begin(Command::Write, &[0; 9000], 0).and_then(|()| link.finish()).expect("alone it is sent");
}

#[test]
fn an_abort_leaves_out_what_is_under_way() {
    let (write, read) = (Command::Write as u8, Command::Read as u8);
    let mut link = link(1, ok);
    link.abort().expect("an answer");
    assert_eq!(link.wire.commands(), [write]);
    link.write(&[(1, 2)]).expect("it is sent");
    link.abort().expect("an answer");
    assert_eq!(link.wire.commands(), [write, write, read, write]);
}

/// Words that follow refused ones are not sent; registers are written.
#[test]
fn what_is_no_word_is_sent_behind_refused_words() {
    let input = Command::Input as u8;
    let full = move |request: &[u8]| {
        if request[1] == input { vec![reply(request[0], Status::Full, &[])] } else { ok(request) }
    };
    let mut link = link(1, full);
    link.input(&[1]).and_then(|()| link.finish()).expect("an answer");
    link.input(&[2]).and_then(|()| link.write(&[(1, 2)])).and_then(|()| link.finish()).expect("an answer");
    assert_eq!(link.wire.commands(), [input, Command::Read as u8, Command::Write as u8]);
    assert_eq!(link.settled(), Settled { taken: 0, refused: true });
    assert_eq!(link.settled(), Settled::default());
}

#[test]
fn answers_that_say_nothing_end_the_session() {
    let outcome = |useless: usize| {
        let mut link = link(2, move |request| {
            let mut frames = vec![reply(request[0] + 1, Status::Ok, &[]); useless];
            frames.extend(ok(request));
            frames
        });
        link.write(&[(1, 2)]).and_then(|()| link.finish())
    };
    assert_eq!(outcome(USELESS - 1), Ok(()));
    assert_eq!(outcome(USELESS), Err(LinkError::Damaged { attempts: 2, damaged: 0 }));
}

#[test]
fn a_silent_board_is_asked_so_often() {
    let mut silent = link(3, |_| Vec::new());
    let outcome = silent.write(&[(1, 2)]).and_then(|()| silent.finish());
    assert_eq!((outcome, silent.wire.heard.len()), (Err(LinkError::Silent { attempts: 3 }), 3));
    let mut silent = link(3, |_| Vec::new());
    assert_eq!((silent.read(&[0]), silent.wire.heard.len()), (Err(LinkError::Silent { attempts: 3 }), 3));
    // An answer that comes late is waited for.
    let mut late = link(1, ok);
    late.wire.late = 1;
    assert_eq!(late.read(&[9]), Ok(vec![9]));
}

#[test]
fn damage_is_counted() {
    let mut noisy = link(3, damaged);
    let outcome = noisy.write(&[(1, 2)]).and_then(|()| noisy.finish());
    assert_eq!(outcome, Err(LinkError::Damaged { attempts: 3, damaged: 3 }));
    assert_eq!(link(3, damaged).read(&[0]), Err(LinkError::Damaged { attempts: 3, damaged: 3 }));
    // What the board got was damaged: it is sent again at once, and then three times in all after waiting in vain.
    let mut deaf = link(3, |request| vec![reply(request[0], Status::Corrupt, &[])]);
    let outcome = deaf.write(&[(1, 2)]).and_then(|()| deaf.finish());
    assert_eq!((outcome, deaf.wire.heard.len()), (Err(LinkError::Damaged { attempts: 3, damaged: 4 }), 4));
}

/// Requests of one, two and four words, of which the board has the first.
#[test]
fn a_lost_request_is_sent_again_with_those_behind_it() {
    let three = |attempts: u32, answer: fn(&[u8], usize) -> Vec<Vec<u8>>| {
        let mut times = 0;
        let mut link = link(attempts, move |request| {
            times += 1;
            answer(request, times)
        });
        for words in [1, 2, 4] {
            link.input(&[0; 4][..words]).expect("it is sent");
        }
        let outcome = link.finish();
        (outcome, link.settled().taken, link.wire.sequences())
    };
    let lost = three(1, |request, times| match times {
        1 | 2 => Vec::new(),
        3 => vec![reply(3, Status::OutOfOrder, &[1])],
        _ => ok(request),
    });
    assert_eq!(lost, (Ok(()), 7, vec![1, 2, 3, 2, 3]));
    // All were carried out, and the answers lost.
    let known = three(1, |_, times| if times == 3 { vec![reply(1, Status::OutOfOrder, &[3])] } else { Vec::new() });
    assert_eq!(known, (Ok(()), 7, vec![1, 2, 3]));
    // A board that never gets on is given up.
    let mut stuck = link(3, |request| vec![reply(request[0], Status::OutOfOrder, &[200])]);
    let outcome = stuck.write(&[(1, 2)]).and_then(|()| stuck.finish());
    assert_eq!((outcome, stuck.wire.heard.len()), (Err(LinkError::Silent { attempts: 3 }), 4));
}

#[test]
fn a_refusal_says_what_and_why() {
    let mut link = link(1, |request| vec![reply(request[0], Status::BadLength, &[])]);
    let meaning = "the payload was not made of whole elements";
    assert_eq!(link.read(&[0]), Err(LinkError::Refused { command: "READ", meaning }));
    let outcome = link.write(&[(1, 2)]).and_then(|()| link.finish());
    assert_eq!(outcome, Err(LinkError::Refused { command: "a request", meaning }));
}

/// What a session before left on the line, frame by frame.
struct Old {
    board: BoardModel<Watched>,
    stale: VecDeque<Vec<u8>>,
    back: Vec<u8>,
    sent: Vec<u8>,
}

impl Wire for Old {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sent.extend(bytes);
        let answers = bytes.iter().flat_map(|&byte| self.board.byte(byte));
        self.back.extend(answers);
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let bytes = self.stale.pop_front().unwrap_or_else(|| std::mem::take(&mut self.back));
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

#[test]
fn what_an_earlier_session_left_is_forgotten() {
    let machine = Machine::grid(1, 1, 16).expect("a valid grid");
    let (board, _) = Plain::of(&machine).board(&machine, 4);
    let old = vec![reply(1, Status::Ok, &[link::VERSION + 1, 16, 1, 8]); 3];
    let wire = Old { board, stale: old.into(), back: Vec::new(), sent: Vec::new() };
    let link = Link::open(wire, Patience::default()).expect("a session");
    assert_eq!((link.machine(), link.wire.sent[0]), (&machine, link::FLAG));
}
