//! Text form of a placed program: the axes and pieces of its tensors, the axes of its operations, and behind that the text of
//! [`crate::fixed`].
//!
//! ```text
//! placed
//! tile 2 samples, 3 tiles
//! tensor %0 on [local, grid] of x [6, 3] at [d0, d1] samples 0
//! tensor %1 on [grid] of w [3] at [d0]
//! tensor %2 on []
//! operation %0 on [local, grid]
//! word 16
//! accumulator 48
//! input x[2][3]: q8
//! ...
//! ```
//!
//! A piece says of which tensor of the whole program it is, with the extents of that, and the index in it, where `d0` is the first
//! dimension of the piece; `samples` is its dimension of samples, where a step is a tile. Behind `turned` stand the dimensions of the piece
//! whose last element is the first of the whole tensor: with `[d0 + 1] turned [0]` they are 1, 2, 3 and 0 of four.

use super::axis::Axis;
use super::{Piece, Program, Tile};
use crate::tensor::{Affine, IterId};
use crate::text::Cursor;
use crate::text::forms::{read_sum, sum};
use crate::text::write::{list, name};
use arch::{Code, Diagnostic};
use std::fmt::{Display, Formatter};

/// Words of axes and pieces, which are names in quotes only.
pub(crate) const WORDS: &[&str] = &[
    "placed",
    "tile",
    "samples",
    "turned",
    "tiles",
    "tensor",
    "operation",
    "on",
    "of",
    "at",
    "local",
    "row",
    "column",
    "grid",
    "tall",
];

/// Whether a word means something in the lines of this stage.
fn reserved(word: &str) -> bool {
    WORDS.contains(&word)
}

/// `[local, grid]`
pub(crate) fn axes(axes: &[Axis]) -> String {
    format!("[{}]", list(axes, ", ", Axis::to_string))
}

/// `[local, grid]`, read back.
pub(crate) fn read_axes(cursor: &mut Cursor) -> Result<Vec<Axis>, Diagnostic> {
    cursor.list(|cursor| {
        let axis = Axis::EVERY.into_iter().find(|axis| cursor.take(&axis.to_string()));
        axis.ok_or_else(|| cursor.expected("an axis, such as `grid`"))
    })
}

/// ` of x [6, 3] at [d0, 2*d1 + 4] samples 0`; nothing for what is not streamed.
pub(crate) fn piece(piece: Option<&Piece>, reserved: fn(&str) -> bool) -> String {
    let Some(Piece { name: whole, shape, index, samples, turned }) = piece else { return String::new() };
    let form = |form: &Affine| sum('d', form.offset, form.terms.iter().map(|&(dimension, c)| (dimension.0, c)));
    let samples = samples.map_or(String::new(), |dimension| format!(" samples {dimension}"));
    let turned = if turned.is_empty() { String::new() } else { format!(" turned {turned:?}") };
    format!(" of {} {shape:?} at [{}]{samples}{turned}", name(whole, reserved), list(index, ", ", form))
}

/// What follows `of`.
pub(crate) fn read_piece(cursor: &mut Cursor) -> Result<Piece, Diagnostic> {
    let name = cursor.name()?.text;
    let shape: Vec<u32> = cursor.list(Cursor::integer)?;
    cursor.expect("at")?;
    let index = cursor.list(|cursor| {
        let (offset, terms) = read_sum(cursor, 'd', usize::MAX)?;
        Ok(Affine { offset, terms: terms.into_iter().map(|(dimension, c)| (IterId(dimension), c)).collect() })
    })?;
    let samples = if cursor.take("samples") { Some(cursor.integer()?) } else { None };
    let turned = if cursor.take("turned") { cursor.list(Cursor::integer)? } else { Vec::new() };
    Ok(Piece { name, shape, index, samples, turned })
}

/// The line of tiles, if there are any.
pub(crate) fn tile(tile: Option<Tile>) -> String {
    tile.map_or(String::new(), |Tile { samples, count }| format!("tile {samples} samples, {count} tiles\n"))
}

/// What follows `tile`.
pub(crate) fn read_tile(cursor: &mut Cursor) -> Result<Tile, Diagnostic> {
    let samples = cursor.integer()?;
    cursor.expect("samples")?;
    cursor.expect(",")?;
    let count = cursor.integer()?;
    cursor.expect("tiles")?;
    Ok(Tile { samples, count })
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "placed")?;
        f.write_str(&tile(self.tile))?;
        for (number, (places, whole)) in self.tensors.iter().zip(&self.pieces).enumerate() {
            writeln!(f, "tensor %{number} on {}{}", axes(places), piece(whole.as_ref(), reserved))?;
        }
        for (number, places) in self.iterators.iter().enumerate() {
            writeln!(f, "operation %{number} on {}", axes(places))?;
        }
        write!(f, "{}", self.fixed)
    }
}

impl std::str::FromStr for Program {
    type Err = Diagnostic;

    /// Read a program; its laws are the caller's to check.
    fn from_str(text: &str) -> Result<Program, Diagnostic> {
        let end = head_end(text);
        let mut cursor = Cursor::new(&text[..end], reserved)?;
        cursor.expect("placed")?;
        cursor.line_end()?;
        let (mut tensors, mut pieces, mut iterators, mut tiles) = (Vec::new(), Vec::new(), Vec::new(), None);
        while !cursor.at_end() {
            if cursor.take("tile") {
                tiles = Some(read_tile(&mut cursor)?);
            } else if cursor.take("tensor") {
                in_order(&mut cursor, tensors.len())?;
                cursor.expect("on")?;
                tensors.push(read_axes(&mut cursor)?);
                pieces.push(if cursor.take("of") { Some(read_piece(&mut cursor)?) } else { None });
            } else {
                cursor.expect("operation")?;
                in_order(&mut cursor, iterators.len())?;
                cursor.expect("on")?;
                iterators.push(read_axes(&mut cursor)?);
            }
            cursor.line_end()?;
        }
        // What has been read is blank, so that places are those of the whole text.
        let blank = |letter: char| if letter == '\n' { "\n".to_owned() } else { " ".repeat(letter.len_utf8()) };
        let head: String = text[..end].chars().map(blank).collect();
        let fixed = (head + &text[end..]).parse()?;
        Ok(Program { fixed, tensors, iterators, pieces, tile: tiles })
    }
}

/// Where the lines of this stage end and those of fixed-point IR begin.
fn head_end(text: &str) -> usize {
    let own = |line: &str| {
        let first = line.split_whitespace().next().unwrap_or_default();
        ["", "placed", "tile", "tensor", "operation"].contains(&first) || first.starts_with("//")
    };
    text.split_inclusive('\n').take_while(|line| own(line)).map(str::len).sum()
}

/// The number of a line in its list.
fn in_order(cursor: &mut Cursor, expected: usize) -> Result<(), Diagnostic> {
    let (number, span) = cursor.id()?;
    let message = || format!("this is number %{expected}, since they are numbered from %0 in their order");
    if number == expected { Ok(()) } else { Err(Diagnostic::new(Code::Syntax, span, message())) }
}
