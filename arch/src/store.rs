//! The sample store of a board: where its registers are, and how samples lie in its rows (docs/store.md).
//!
//!     beats of a batch    x0 . . .   x1 . . .   x2 . . .   a b c d   y y y y   z z z z      (. = no word, 0)
//!     pattern             3 beats of 1 word                1 of 4    2 of 1 word, repeated
//!     rows of 4 words     x0 x1 x2 .                       a b c d   y z . .
//!
//! Hardware, its model, the host and docs/store.md read this one table.

pub mod order;

use crate::image::{Feed, Image};
use crate::machine::Machine;

/// Address bits 19..16 of the control port: the region of the store, which no grid has.
pub const REGION: u32 = 7;

/// Read only: rows of the store; 0 where there is none.
pub const ROWS: u32 = REGION << 16;
/// Write: a [`Mode`]. Read: the present one; `Play` until the last beat has been taken.
pub const MODE: u32 = ROWS + 1;
/// Records of an epoch, at least 1: batches, or their tiles ([`Pattern::records`]).
pub const RECORDS: u32 = ROWS + 2;
/// Epochs to play, at least 1.
pub const EPOCHS: u32 = ROWS + 3;
/// Read only: records of this epoch whose last beat has not been read yet.
pub const RECORDS_LEFT: u32 = ROWS + 4;
/// Epochs whose last beat has not been read yet. Written, with whatever word: the present epoch is the last one that is played.
pub const EPOCHS_LEFT: u32 = ROWS + 5;
/// What the host calls the contents; 0 after power-on and from the beginning of a fill or stream on, and kept over resets.
pub const TAG: u32 = ROWS + 6;
/// Read only: the row that is filled or read next.
pub const ROW: u32 = ROWS + 7;
/// Read only: how the memory of the store is, a [`State`].
pub const STATUS: u32 = ROWS + 8;
/// Read only: the address of the first word of the memory that was wrong when it was tested.
pub const WRONG: u32 = ROWS + 9;
/// The key of the order of the first epoch; only where batches can be permuted.
pub const KEY: u32 = ROWS + 10;
/// Rows of a record; only there, too.
pub const BATCH_ROWS: u32 = ROWS + 11;
/// Read only: 1 where batches can be permuted.
pub const PERMUTES: u32 = ROWS + 12;
/// Read only: 1 where rows can be filled while others are played.
pub const STREAMS: u32 = ROWS + 13;
/// First entry of the pattern, write only.
pub const PATTERN: u32 = ROWS + 0x100;

/// Entries of the pattern.
pub const PATTERN_ENTRIES: usize = 64;
/// Bits of an entry that hold its number of beats.
pub const BEATS_BITS: u32 = 16;
/// Bits above them that hold the logarithm of the words of a beat; the bit above those says that its words are repeated in the other lanes, the
/// next one marks the last entry.
pub const WIDTH_BITS: u32 = 3;
/// Bits of the counters of batches and epochs.
pub const COUNT_BITS: u32 = 24;
/// Beats that are on their way from the rows to the grid at most.
pub const QUEUE: usize = 8;

/// What the store does with the input stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The host's beats go to the grid.
    Pass = 0,
    /// The host's beats become rows, from row 0 on.
    Fill = 1,
    /// The rows become the grid's beats, epoch after epoch; then `Pass`.
    Play = 2,
    /// The same, with the batches of each epoch in an order of its own.
    Permuted = 3,
    /// The host's beats become rows while others are played; rows are used again once they have been played.
    Stream = 4,
}

impl Mode {
    /// All of them, with name and meaning: the table of docs/store.md.
    pub const ALL: [(Mode, &'static str, &'static str); 5] = [
        (Mode::Pass, "PASS", "the host's beats go to the grid"),
        (Mode::Fill, "FILL", "the host's beats become rows, from row 0 on; full rows take no more"),
        (Mode::Play, "PLAY", "the rows become the grid's beats, `EPOCHS` times `RECORDS`; then PASS"),
        (
            Mode::Permuted,
            "PERMUTED",
            "as PLAY, and read as PLAY, with the batches of each epoch in an order of its own; PASS where that cannot be",
        ),
        (
            Mode::Stream,
            "STREAM",
            "as PLAY, and read as PLAY, of rows that the host fills meanwhile; a row that has been played is filled again",
        ),
    ];
}

/// How the memory of a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It keeps rows.
    Ready = 0,
    /// It is started and tested after power-on.
    Starting = 1,
    /// It gave other words than were written.
    Failed = 2,
}

impl State {
    /// All of them, with name and meaning: the table of docs/store.md.
    pub const ALL: [(State, &'static str, &'static str); 3] = [
        (State::Ready, "READY", "it keeps rows; block memory is always ready"),
        (State::Starting, "STARTING", "an SDRAM is started and tested after power-on; nothing is filled or played"),
        (State::Failed, "FAILED", "an SDRAM gave other words than were written; nothing is filled or played"),
    ];

    /// The one that a register says. `None`: there is no such state.
    pub fn of(word: u32) -> Option<State> {
        State::ALL.into_iter().map(|(state, ..)| state).find(|&state| state as u32 == word)
    }
}

/// The registers, with name, access and meaning: the table of docs/store.md.
pub const REGISTERS: [(u32, &str, &str, &str); 15] = [
    (ROWS, "ROWS", "read", "rows of the store, each as wide as a beat; 0 where there is none"),
    (
        MODE,
        "MODE",
        "read, write",
        "what is done with the input stream; PLAY is read until the last beat has been taken",
    ),
    (RECORDS, "RECORDS", "read, write", "records of an epoch, at least 1"),
    (EPOCHS, "EPOCHS", "read, write", "epochs to play, at least 1"),
    (RECORDS_LEFT, "RECORDS_LEFT", "read", "records of this epoch whose last beat has not been read"),
    (
        EPOCHS_LEFT,
        "EPOCHS_LEFT",
        "read, write",
        "epochs whose last beat has not been read; whatever is written, the present epoch becomes the last one",
    ),
    (TAG, "TAG", "read, write", "the host's name for the contents; 0 after power-on and from a FILL or STREAM on"),
    (ROW, "ROW", "read", "the row that is filled or read next"),
    (STATUS, "STATUS", "read", "how the memory is"),
    (WRONG, "WRONG", "read", "of an SDRAM that failed: the address of the first wrong word"),
    (KEY, "KEY", "read, write", "of PERMUTED: the key of the first epoch's order"),
    (BATCH_ROWS, "BATCH_ROWS", "read, write", "of PERMUTED: rows of a record"),
    (PERMUTES, "PERMUTES", "read", "1 where there is PERMUTED, otherwise 0"),
    (STREAMS, "STREAMS", "read", "1 where there is STREAM"),
    (
        PATTERN,
        "PATTERN",
        "write",
        "first of 64 entries: beats in bits 15..0, log2 of the words of a beat in 18..16, repeated in the other lanes in 19, last in 20",
    ),
];

/// Words of `bits` bits that a row of the store takes in a memory of such words, and the logarithm of the words from one row to the next.
pub fn row_in_words(machine: &Machine, bits: u32) -> (u32, u32) {
    let words = (machine.word() * machine.stream_words()).div_ceil(bits);
    (words, words.next_power_of_two().ilog2())
}

/// What a beat takes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// `2^width` words, or the whole row if it has fewer.
    pub width: u32,
    /// They stand in the other lanes, too, one after the other; otherwise there is 0.
    pub repeated: bool,
}

/// Beats of one shape that follow each other in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// How many.
    pub beats: u32,
    /// Of each.
    pub shape: Shape,
}

/// How the beats of one batch, or of the weights, lie in rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Words of a row.
    lanes: u32,
    /// Of a record.
    entries: Vec<Entry>,
    /// Records of a batch: its tiles, where each has these entries and all of them have too many; otherwise 1.
    records: u32,
}

impl Pattern {
    /// The one of an image's batches, which are `permuted` as a whole or not at all. `None`: they have no input, or too many beats.
    pub fn of(image: &Image, permuted: bool) -> Option<Pattern> {
        image.entries.step_load?;
        Pattern::of_feeds(image, &image.step_in, if permuted { 1 } else { image.tiles })
    }

    /// The one of an image's weights. `None`: it has none, or their beats change too often.
    pub fn of_model(image: &Image) -> Option<Pattern> {
        image.entries.load_model?;
        Pattern::of_feeds(image, &image.model_in, 1)
    }

    fn of_feeds(image: &Image, feeds: &[Feed], tiles: u32) -> Option<Pattern> {
        let lanes = image.machine.stream_words();
        let shapes: Vec<Shape> = feeds.iter().flat_map(|feed| shapes(image, feed, lanes)).collect();
        Pattern::of_shapes(lanes, &shapes, tiles)
    }

    /// Of the shapes of all beats, which come in so many tiles.
    fn of_shapes(lanes: u32, shapes: &[Shape], tiles: u32) -> Option<Pattern> {
        let several = || Some(Pattern::from_shapes(lanes, shapes.iter().copied()));
        let beats = shapes.len() / tiles as usize;
        let alike = || {
            shapes.len().is_multiple_of(tiles as usize)
                && shapes.iter().eq(shapes[..beats].iter().cycle().take(shapes.len()))
        };
        let tile = || {
            alike().then(|| Pattern { records: tiles, ..Pattern::from_shapes(lanes, shapes[..beats].iter().copied()) })
        };
        // Words to spare are better than no pattern.
        let whole = Shape { width: lanes.next_power_of_two().ilog2(), repeated: false };
        let one = || Some(Pattern::from_shapes(lanes, shapes.iter().map(|_| whole)));
        let short = |pattern: Option<Pattern>| pattern.filter(Pattern::is_short);
        short(several()).or_else(|| short(tile())).or_else(|| short(one()))
    }

    fn is_short(&self) -> bool {
        (1..=PATTERN_ENTRIES).contains(&self.entries.len())
    }

    /// Of the shapes of all beats.
    fn from_shapes(lanes: u32, shapes: impl Iterator<Item = Shape>) -> Pattern {
        let mut entries: Vec<Entry> = Vec::new();
        for shape in shapes {
            match entries.last_mut() {
                Some(last) if last.shape == shape && last.beats + 1 < 1 << BEATS_BITS => last.beats += 1,
                _ => entries.push(Entry { beats: 1, shape }),
            }
        }
        Pattern { lanes, entries, records: 1 }
    }

    /// Records of a batch, each of which has the entries.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// The entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What is written to the entries, from [`PATTERN`] on.
    pub fn words(&self) -> Vec<u32> {
        let last = self.entries.len() - 1;
        let word = |(n, entry): (usize, &Entry)| {
            let Shape { width, repeated } = entry.shape;
            let flags = u32::from(repeated) | u32::from(n == last) << 1;
            entry.beats | width << BEATS_BITS | flags << (BEATS_BITS + WIDTH_BITS)
        };
        self.entries.iter().enumerate().map(word).collect()
    }

    /// Beats of a batch.
    pub fn beats(&self) -> u64 {
        u64::from(self.records) * self.entries.iter().map(|entry| u64::from(entry.beats)).sum::<u64>()
    }

    /// Rows of a batch.
    pub fn rows(&self) -> u64 {
        let per_row = |entry: &Entry| (self.lanes >> entry.shape.width).max(1);
        u64::from(self.records)
            * self.entries.iter().map(|entry| u64::from(entry.beats.div_ceil(per_row(entry)))).sum::<u64>()
    }

    /// The rows of a batch with these beats, one after the other.
    ///
    /// # Panics
    /// When there are fewer beats than the pattern has.
    pub fn pack(&self, mut beats: impl Iterator<Item = Vec<i64>>) -> Vec<Vec<i64>> {
        let lanes = self.lanes as usize;
        let mut rows: Vec<Vec<i64>> = Vec::new();
        for entry in (0..self.records).flat_map(|_| &self.entries) {
            let words = 1 << entry.shape.width;
            let mut at = lanes;
            for _ in 0..entry.beats {
                if at + words > lanes {
                    rows.push(vec![0; lanes]);
                    at = 0;
                }
                let beat = beats.next().expect("a batch has as many beats as its pattern");
                let used = words.min(lanes);
                let row = rows.last_mut().expect("it was pushed");
                row[at..at + used].copy_from_slice(&beat[..used]);
                at += words;
            }
        }
        rows
    }
}

/// The smallest shape of each beat of a feed.
fn shapes(image: &Image, feed: &Feed, lanes: u32) -> Vec<Shape> {
    let mut shapes = Vec::new();
    feed.for_each_beat(|counters| {
        let beat = feed.beat(&image.tensors[feed.tensor].shape, counters);
        let elements: Vec<Option<usize>> = (0..lanes).map(|lane| beat.element(lane)).collect();
        shapes.push(shape(&elements));
    });
    shapes
}

/// The smallest shape of a beat with these elements in its lanes; what has none is 0.
fn shape(elements: &[Option<usize>]) -> Shape {
    let holds = |shape: &Shape| {
        let (first, others) = elements.split_at((1 << shape.width).min(elements.len()));
        let repeat = if shape.repeated { first } else { &[None] };
        others.iter().zip(repeat.iter().cycle()).all(|(lane, expected)| lane == expected)
    };
    let widths = 0..=elements.len().next_power_of_two().ilog2();
    let mut all = widths.flat_map(|width| [false, true].map(|repeated| Shape { width, repeated }));
    all.find(holds).expect("all lanes hold what they hold")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(width: u32) -> Shape {
        Shape { width, repeated: false }
    }

    /// A lane without an element is 0, which no word takes the place of.
    #[test]
    fn words_that_several_lanes_have_are_kept_once() {
        let [a, b, none] = [Some(7), Some(3), None];
        for (lanes, width, repeated) in [
            (vec![a, none, none, none], 0, false),
            (vec![a; 4], 0, true),
            (vec![a, a, a, none], 2, false),
            (vec![a, b, a, b, a, b], 1, true),
            (vec![a, none, a, none], 1, true),
            (vec![none; 4], 0, false),
            (vec![a, b, b, a], 2, false),
            (vec![a], 0, false),
            (vec![a; 3], 0, true),
        ] {
            assert_eq!(shape(&lanes), Shape { width, repeated }, "{lanes:?}");
        }
    }

    /// The example at the top, by hand.
    #[test]
    fn words_that_count_are_packed() {
        let (one, four, repeated) = (words(0), words(2), Shape { width: 0, repeated: true });
        let pattern = Pattern::from_shapes(4, [one, one, one, four, repeated, repeated].into_iter());
        let entries = [(3, one), (1, four), (2, repeated)].map(|(beats, shape)| Entry { beats, shape });
        assert_eq!(pattern.entries(), entries);
        assert_eq!(pattern.words(), [0x00_0003, 0x02_0001, 0x18_0002]);
        assert_eq!((pattern.beats(), pattern.rows()), (6, 3));
        let beats = [[1, 0, 0, 0], [2, 0, 0, 0], [3, 0, 0, 0], [4, 5, 6, 7], [8; 4], [9; 4]].map(|beat| beat.to_vec());
        assert_eq!(pattern.pack(beats.into_iter()), [[1, 2, 3, 0], [4, 5, 6, 7], [8, 9, 0, 0]]);
    }

    /// Nine tiles, each a beat of a word and one of four, have 18 entries; with 40 tiles there are too many for one record.
    #[test]
    fn tiles_are_records_where_a_batch_has_too_many_entries() {
        let tile = [words(0), words(2)];
        let of = |tiles: u32| Pattern::of_shapes(4, &tile.repeat(tiles as usize), tiles).unwrap();
        let figures = |pattern: &Pattern| (pattern.records(), pattern.entries().len(), pattern.beats(), pattern.rows());
        assert_eq!(figures(&of(9)), (1, 18, 18, 18));
        assert_eq!(figures(&of(40)), (40, 2, 80, 80));
        assert_eq!(of(40).pack((0..80).map(|n| vec![n; 4]))[77..], [[77; 4].to_vec(), vec![78, 0, 0, 0], vec![79; 4]]);
        // Tiles that differ are not records of one pattern.
        let unlike = [tile.repeat(40), vec![words(0); 2]].concat();
        assert_eq!(figures(&Pattern::of_shapes(4, &unlike, 41).unwrap()), (1, 1, 82, 82));
    }

    /// Six lanes hold a beat of four words and no second one, three of two words, one of all words.
    #[test]
    fn rows_need_not_be_a_power_of_two() {
        let pattern = Pattern::from_shapes(6, [2, 2, 1, 1, 1, 1, 3].into_iter().map(words));
        assert_eq!(pattern.rows(), 2 + 2 + 1);
        let beats = (1..=7).map(|n| (0..6).map(|lane| 10 * n + lane).collect());
        let rows = [
            [10, 11, 12, 13, 0, 0],
            [20, 21, 22, 23, 0, 0],
            [30, 31, 40, 41, 50, 51],
            [60, 61, 0, 0, 0, 0],
            [70, 71, 72, 73, 74, 75],
        ];
        assert_eq!(pattern.pack(beats), rows);
    }

    #[test]
    fn the_page_has_these_tables() {
        let page = include_str!("../../docs/store.md");
        for (number, name, access, meaning) in REGISTERS {
            let row = format!("| {number:#07x} | {name} | {access} | {meaning} |");
            assert!(page.contains(&row), "docs/store.md lacks: {row}");
        }
        let modes = Mode::ALL.map(|(mode, name, meaning)| (mode as u32, name, meaning));
        let states = State::ALL.map(|(state, name, meaning)| (state as u32, name, meaning));
        for (number, name, meaning) in modes.into_iter().chain(states) {
            let row = format!("| {number} | {name} | {meaning} |");
            assert!(page.contains(&row), "docs/store.md lacks: {row}");
        }
    }
}
