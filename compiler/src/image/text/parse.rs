//! Text to an image.

use super::{carried, reserved, routines};
use crate::scheduled::text::tile;
use crate::text::forms::{numbered, read_sum};
use crate::text::known::LARGEST;
use crate::text::nearest::nearest;
use crate::text::token::Kind;
use crate::text::{Cursor, table};
use arch::image::{Annotated, Entries, Feed, FeedDimension, Image, StreamTensor};
use arch::isa::{Address, Instruction, LEVELS, Value};
use arch::machine::{MachineSpec, SetError};
use arch::{Code, Diagnostic, Machine, Span};

type Read<T> = Result<T, Diagnostic>;

/// All of it.
pub(super) fn image(text: &str) -> Read<Image> {
    let mut cursor = Cursor::new(text, reserved)?;
    let mut image = head(&mut cursor)?;
    while !cursor.at_end() {
        line(&mut cursor, &mut image)?;
        cursor.line_end()?;
    }
    Ok(image)
}

/// The lines that every image begins with.
fn head(cursor: &mut Cursor) -> Read<Image> {
    cursor.expect("image")?;
    cursor.line_end()?;
    let machine = machine(cursor)?;
    cursor.line_end()?;
    cursor.expect("step")?;
    let step_length = cursor.integer()?;
    cursor.expect("cycles")?;
    cursor.expect(",")?;
    let tiles = cursor.integer()?;
    cursor.expect("tiles")?;
    let tile_length = tile(cursor, step_length)?;
    cursor.line_end()?;
    Ok(Image {
        machine,
        alu: Vec::new(),
        root: Vec::new(),
        moves: Vec::new(),
        load: Vec::new(),
        scalar: Vec::new(),
        follows: Vec::new(),
        tables: Vec::new(),
        entries: Entries::default(),
        step_length,
        tile_length,
        model_in: Vec::new(),
        tiles,
        step_in: Vec::new(),
        step_out: Vec::new(),
        model_out: Vec::new(),
        tensors: Vec::new(),
    })
}

/// `machine pus = 2, shifts = [0, 8]`
fn machine(cursor: &mut Cursor) -> Read<Machine> {
    let start = cursor.peek().span;
    cursor.expect("machine")?;
    let mut spec = MachineSpec::default();
    while !cursor.at_line_end() {
        let key = cursor.name()?;
        cursor.expect("=")?;
        let place = cursor.peek().span;
        let value = if cursor.sees("[") {
            cursor.list(Cursor::integer::<u32>)?.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
        } else if cursor.take("true") {
            true.to_string()
        } else if cursor.take("false") {
            false.to_string()
        } else {
            cursor.integer::<u32>()?.to_string()
        };
        spec.set(&key.text, &value).map_err(|error| match error {
            SetError::Key => Diagnostic::new(Code::Undef, key.span, format!("a machine has no `{}`", key.text)),
            SetError::Value => Diagnostic::new(Code::Syntax, place, format!("`{}` cannot be {value}", key.text)),
        })?;
        if !cursor.take(",") {
            break;
        }
    }
    Machine::try_from(spec).map_err(|error| Diagnostic::new(Code::Config, start, error.to_string()))
}

fn line(cursor: &mut Cursor, image: &mut Image) -> Read<()> {
    if let Some(feeds) = two_words(cursor, carried(image)) {
        cursor.expect(":")?;
        feeds.push(feed(cursor)?);
    } else if cursor.take("entry") {
        let unknown = cursor.expected("the words of a routine, such as `step alu`");
        let entry = two_words(cursor, routines(&mut image.entries)).ok_or(unknown)?;
        *entry = Some(cursor.id()?.0 as u32);
    } else if cursor.take("table") {
        image.tables.push(table::read(cursor)?);
    } else if cursor.take("alu") {
        image.alu.push(instruction(cursor, &image.machine, image.alu.len())?);
    } else if cursor.take("scalar") {
        image.scalar.push(instruction(cursor, &image.machine, image.scalar.len())?);
        image.follows.push(image.alu.len() as u32);
    } else if cursor.take("root") {
        image.root.push(instruction(cursor, &image.machine, image.root.len())?);
    } else if cursor.take("move") {
        image.moves.push(instruction(cursor, &image.machine, image.moves.len())?);
    } else if cursor.take("load") {
        image.load.push(instruction(cursor, &image.machine, image.load.len())?);
    } else if cursor.take("stream") {
        image.tensors.push(stream_tensor(cursor, image.tensors.len())?);
    } else {
        return Err(cursor.expected("an instruction, such as `alu`, or `entry`, `table`, `stream` or what is carried"));
    }
    Ok(())
}

/// Go over the two words that stand for one of some things.
fn two_words<T, const COUNT: usize>(cursor: &mut Cursor, things: [([&str; 2], T); COUNT]) -> Option<T> {
    let found = things.into_iter().find(|([first, second], _)| cursor.sees(first) && cursor.second_is(second));
    found.map(|(_, thing)| {
        cursor.advance();
        cursor.advance();
        thing
    })
}

/// The number of a thing in its list, which has so many already.
fn next_number(cursor: &mut Cursor, known: usize) -> Read<()> {
    match cursor.id()? {
        (number, _) if number == known => Ok(()),
        (_, span) => {
            let message = format!("each list is numbered from %0; this is %{known}");
            Err(Diagnostic::new(Code::Syntax, span, message))
        }
    }
}

/// `%0 "h multiply-add": k3<4, data[k3], write t0, end  @ 3..9 as h`
fn instruction<I: Instruction>(cursor: &mut Cursor, machine: &Machine, known: usize) -> Read<Annotated<I>> {
    let start = cursor.peek().span;
    next_number(cursor, known)?;
    let Kind::Word { text: what, quoted: true } = cursor.peek().kind.clone() else {
        return Err(cursor.expected("what the instruction does, in quotes"));
    };
    cursor.advance();
    cursor.expect(":")?;
    let mut fields = Fields { values: I::plain(machine).values(machine), given: Vec::new() };
    while !cursor.at_line_end() && !cursor.sees("@") {
        fields.read(cursor)?;
        if !cursor.take(",") {
            break;
        }
    }
    let instruction = I::from_values(machine, &fields.values).map_err(|error| {
        let place = fields.given.iter().find(|(number, _)| fields.values[*number].0 == error.field);
        Diagnostic::new(Code::Limit, place.map_or(start, |(_, span)| *span), error.to_string())
    })?;
    Ok(Annotated { instruction, what, origin: cursor.origin()? })
}

/// The fields of an instruction, and which of them were given where.
struct Fields {
    values: Vec<(String, Value)>,
    given: Vec<(usize, Span)>,
}

impl Fields {
    /// Read one of them.
    fn read(&mut self, cursor: &mut Cursor) -> Read<()> {
        if cursor.second_is("<") {
            return self.count(cursor);
        }
        let name = cursor.name()?;
        let is_address = cursor.sees("[");
        let is_it = |(known, value): &(String, Value)| {
            *known == name.text && matches!(value, Value::Address(_)) == is_address && *known != COUNTS
        };
        let Some(number) = self.values.iter().position(is_it) else {
            let what = if is_address { "address" } else { "field" };
            let message = format!("this instruction has no {what} `{}` on this machine", name.text);
            let unknown = Diagnostic::new(Code::Undef, name.span, message);
            let near = nearest(&name.text, self.values.iter().map(|(known, _)| known.as_str()));
            let near = near.filter(|near| *near != name.text);
            return Err(match near {
                Some(near) => unknown.with_help(format!("did you mean `{near}`?")),
                None => unknown,
            });
        };
        if self.given.iter().any(|(known, _)| *known == number) {
            return Err(Diagnostic::new(Code::Redef, name.span, format!("`{}` is given twice", name.text)));
        }
        self.given.push((number, name.span));
        let value = &mut self.values[number].1;
        match value {
            Value::Flag(bit) => *bit = true,
            Value::Number(number) => *number = cursor.integer()?,
            Value::Choice(words, number) => *number = choice(cursor, words)?,
            Value::Address(value) => *value = address(cursor)?,
            Value::Counts(_) => unreachable!("loops are written otherwise"),
        }
        Ok(())
    }

    /// `k3<4`
    fn count(&mut self, cursor: &mut Cursor) -> Read<()> {
        let start = cursor.peek().span;
        let (level, count) = count(cursor)?;
        let number = self.values.iter().position(|(_, value)| matches!(value, Value::Counts(_)));
        let number = number
            .ok_or_else(|| Diagnostic::new(Code::Syntax, start, "this instruction has no loops, but a `count`"))?;
        if let Value::Counts(counts) = &mut self.values[number].1 {
            counts[level] = count;
        }
        self.given.push((number, start));
        Ok(())
    }
}

/// The name under which loop counts are listed.
const COUNTS: &str = "counts";

/// One of some words, or the number that it stands for.
fn choice(cursor: &mut Cursor, words: &[&str]) -> Read<u32> {
    if matches!(cursor.peek().kind, Kind::Number(_)) {
        return cursor.integer();
    }
    let found = words.iter().position(|word| cursor.take(word));
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    found.map(|number| number as u32).ok_or_else(|| cursor.expected(&format!("one of {}", words.join(", "))))
}

/// `k3<4`
fn count(cursor: &mut Cursor) -> Read<(usize, u32)> {
    let level = numbered(cursor, 'k', LEVELS)?;
    cursor.expect("<")?;
    Ok((level, cursor.integer()?))
}

/// `[4*k2 + k3 + 1]`
fn address(cursor: &mut Cursor) -> Read<Address> {
    let start = cursor.peek().span;
    cursor.expect("[")?;
    let (offset, terms) = read_sum(cursor, 'k', LEVELS)?;
    cursor.expect("]")?;
    let mut address = Address {
        base: offset.try_into().map_err(|_| Diagnostic::new(Code::Limit, start, "an address begins at 0 or above"))?,
        strides: [0; LEVELS],
    };
    for (level, stride) in terms {
        let sum = i64::from(address.strides[level]) + stride;
        let large = || Diagnostic::new(Code::Limit, start, format!("an address cannot go on by {sum} words"));
        address.strides[level] = sum.try_into().map_err(|_| large())?;
    }
    Ok(address)
}

/// `%0 w [4] q 12 = [1, 2, 3, 4]`
fn stream_tensor(cursor: &mut Cursor, known: usize) -> Read<StreamTensor> {
    next_number(cursor, known)?;
    let name = cursor.name()?.text;
    let shape = cursor.list(Cursor::integer)?;
    cursor.expect("q")?;
    let fraction = cursor.integer()?;
    let constant = if cursor.take("=") { Some(cursor.list(Cursor::integer)?) } else { None };
    Ok(StreamTensor { name, shape, fraction, constant })
}

/// `%2[2*k2][k3 + 4 lane 1] k2<2 k3<3`, `%2[k2 row 1][k3 lane 1] width 8 k2<2 k3<3`
fn feed(cursor: &mut Cursor) -> Read<Feed> {
    let (tensor, _) = cursor.id()?;
    let mut dimensions = Vec::new();
    while cursor.take("[") {
        let (offset, terms) = read_sum(cursor, 'k', LEVELS)?;
        let lane = if cursor.take("lane") { cursor.bounded(LARGEST)? } else { 0 };
        let row = if cursor.take("row") { cursor.bounded(LARGEST)? } else { 0 };
        let mut levels = [0; LEVELS];
        for (level, stride) in terms {
            levels[level] += stride;
        }
        dimensions.push(FeedDimension { offset, levels, lane, row });
        cursor.expect("]")?;
    }
    let width = if cursor.take("width") { cursor.integer()? } else { 0 };
    let mut counts = [1; LEVELS];
    while !cursor.at_line_end() {
        let (level, number) = count(cursor)?;
        counts[level] = number;
    }
    Ok(Feed { tensor, counts, width, dimensions })
}
