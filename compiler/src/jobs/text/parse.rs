//! Text to jobs.

use super::super::job::{Access, Copies, Counts, Datapath, Job, Sink, Source, Walk};
use super::super::lanes::{Bound, Lanes};
use super::super::{Program, Storage, StorageId};
use super::reserved;
use crate::fixed::Role;
use crate::placed::Axis;
use crate::placed::text::{read_axes, read_piece, read_tile};
use crate::text::forms::{numbered, read_sum};
use crate::text::token::Kind;
use crate::text::{Cursor, table};
use arch::division::Rounding;
use arch::isa::{Combine, Finish, RootFunction, UNLIMITED};
use arch::timing::Unit;
use arch::{Code, Diagnostic};

impl std::str::FromStr for Program {
    type Err = Diagnostic;

    /// Read a program; its laws are the caller's to check.
    fn from_str(text: &str) -> Result<Program, Diagnostic> {
        let mut reader = Reader::new(Cursor::new(text, reserved)?)?;
        while !reader.cursor.at_end() {
            if !reader.line()? {
                return Err(reader.cursor.expected("`table`, `tile`, `storage` or `job`"));
            }
            reader.cursor.line_end()?;
        }
        Ok(reader.program)
    }
}

/// A program that is being read, line by line.
pub(crate) struct Reader {
    pub(crate) cursor: Cursor,
    pub(crate) program: Program,
}

impl Reader {
    /// Behind the first line, which begins where the cursor is.
    pub(crate) fn new(mut cursor: Cursor) -> Result<Reader, Diagnostic> {
        cursor.expect("jobs")?;
        cursor.expect("word")?;
        let word = cursor.integer()?;
        cursor.expect("accumulator")?;
        let accumulator = cursor.integer()?;
        cursor.line_end()?;
        let (tables, storages, jobs) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Reader { cursor, program: Program { word, accumulator, tables, tile: None, storages, jobs } })
    }

    /// Read what stands here up to the end of the line, if it begins as a line of jobs does; other stages may have more behind it.
    pub(crate) fn line(&mut self) -> Result<bool, Diagnostic> {
        if self.cursor.take("table") {
            self.program.tables.push(table::read(&mut self.cursor)?);
        } else if self.cursor.take("tile") {
            self.program.tile = Some(read_tile(&mut self.cursor)?);
        } else if self.cursor.take("storage") {
            let storage = self.storage()?;
            self.program.storages.push(storage);
        } else if self.cursor.take("job") {
            let job = self.job()?;
            self.program.jobs.push(job);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// `%0 x [6] on [grid] strides [1] words 2 q 8 input of x [6] at [d0]`
    fn storage(&mut self) -> Result<Storage, Diagnostic> {
        let cursor = &mut self.cursor;
        let (number, span) = cursor.id()?;
        if number != self.program.storages.len() {
            let message = format!("storages are numbered from %0; this is %{}", self.program.storages.len());
            return Err(Diagnostic::new(Code::Syntax, span, message));
        }
        let name = cursor.name()?.text;
        let shape = cursor.list(Cursor::integer)?;
        cursor.expect("on")?;
        let axes = read_axes(cursor)?;
        cursor.expect("strides")?;
        let strides = cursor.list(Cursor::integer)?;
        cursor.expect("words")?;
        let words = cursor.integer()?;
        cursor.expect("q")?;
        let fraction = cursor.integer()?;
        let roles =
            [("input", Role::Input), ("state", Role::State), ("temporary", Role::Temporary), ("output", Role::Output)];
        let role = if cursor.take("parameter") {
            Role::Parameter(cursor.list(Cursor::integer)?.into())
        } else {
            let found = roles.into_iter().find(|(word, _)| cursor.take(word));
            found.ok_or_else(|| cursor.expected("what the storage is for, such as `input`"))?.1
        };
        let piece = if cursor.take("of") { Some(read_piece(cursor)?) } else { None };
        if axes.len() != shape.len() || strides.len() != shape.len() {
            return Err(Diagnostic::new(Code::Syntax, span, "each dimension has one axis and one stride"));
        }
        Ok(Storage { name, shape, axes, strides, words, role, fraction, piece })
    }

    fn job(&mut self) -> Result<Job, Diagnostic> {
        let Kind::Word { text: what, quoted: true } = self.cursor.peek().kind.clone() else {
            return Err(self.cursor.expected("what the job does, in quotes"));
        };
        self.cursor.advance();
        let on = if self.cursor.take("scalar") {
            Datapath::Scalar
        } else {
            self.cursor.expect("pes")?;
            Datapath::Engines
        };
        let (loops, reduce) = self.loops()?;
        let interval = if self.cursor.take("every") { self.cursor.integer()? } else { 1 };
        self.cursor.expect(":")?;
        let write = if self.cursor.take("out") { None } else { Some(self.access(loops.len())?) };
        self.cursor.expect("=")?;
        let unit = [Unit::Row, Unit::Global, Unit::Across].into_iter().find(|unit| self.cursor.take(&unit.to_string()));
        if unit.is_some() {
            self.cursor.expect("root")?;
            self.cursor.expect("(")?;
        }
        let empty = Access { storage: StorageId(0), offset: 0, strides: Vec::new() };
        let mut job = Job::copy(arch::Origin::default(), what, loops, empty, Sink::Output);
        (job.on, job.reduce, job.interval) = (on, reduce, interval);
        self.value(&mut job)?;
        job.lanes = self.lanes(job.loops.len())?;
        job.sink = match (write, unit) {
            (None, _) => Sink::Output,
            (Some(write), None) => Sink::Pad(write),
            (Some(write), Some(unit)) => self.tree(unit, write, job.loops.len())?,
        };
        if self.cursor.take("to") {
            job.copies = if self.cursor.take("none") {
                Copies { engines: false, scalar: false }
            } else {
                Copies { engines: self.cursor.take("pes"), scalar: self.cursor.take("scalar") }
            };
        }
        if self.cursor.take("last") {
            self.cursor.expect("tile")?;
            job.counts = Counts::Last;
        } else if self.cursor.take("over") {
            self.cursor.expect("tiles")?;
            job.counts = Counts::Over(self.access(job.loops.len())?);
        }
        job.origin = self.cursor.origin()?;
        Ok(job)
    }

    /// `for 4 8 over 3`: loop counts, and how many of them are summed over.
    fn loops(&mut self) -> Result<(Vec<u32>, usize), Diagnostic> {
        let mut loops = Vec::new();
        let mut summed = 0;
        for word in ["for", "over"] {
            if !self.cursor.take(word) {
                continue;
            }
            while matches!(self.cursor.peek().kind, Kind::Number(_)) {
                loops.push(self.cursor.integer()?);
                summed += usize::from(word == "over");
            }
        }
        Ok((loops, summed))
    }

    /// `%1[0] << 8 + %0[k0] * %2[k1] >> 12 negative`
    fn value(&mut self, job: &mut Job) -> Result<(), Diagnostic> {
        let loops = job.loops.len();
        let combines =
            [("+", Combine::Add), ("-", Combine::Subtract), ("max", Combine::Maximum), ("min", Combine::Minimum)];
        let starts = combines.iter().any(|(word, _)| self.cursor.sees(word)) && !self.cursor.sees_real();
        job.c = if starts || self.cursor.sees("none") { None } else { Some(self.source(loops)?) };
        if !starts {
            self.cursor.take("none");
            self.cursor.expect("<<")?;
            job.align = self.cursor.integer()?;
        }
        let combine = combines.into_iter().find(|(word, _)| self.cursor.take(word));
        job.combine = combine.ok_or_else(|| self.cursor.expected("`+`, `-`, `max` or `min`"))?.1;
        job.square = self.cursor.take("(");
        if job.square || self.cursor.sees_id() {
            job.a = Some(self.access(loops)?);
            self.cursor.expect(if job.square { "-" } else { "*" })?;
        } else {
            job.a = None;
        }
        job.b = self.source(loops)?;
        if job.square {
            self.cursor.expect(")")?;
            self.cursor.expect("^")?;
            if !self.cursor.take_number("2") {
                return Err(self.cursor.expected("a square, `^2`"));
            }
        }
        self.cursor.expect(">>")?;
        job.shift = self.cursor.integer()?;
        job.finish = if self.cursor.take("negative") {
            Finish::Negative
        } else if self.cursor.take("positive") {
            Finish::Positive(UNLIMITED)
        } else if self.cursor.take("limit") {
            Finish::Positive(self.cursor.integer()?)
        } else {
            Finish::Round
        };
        Ok(())
    }

    /// `) >> 3 table 0  lanes ..  walk ..`
    fn tree(&mut self, unit: Unit, write: Access, loops: usize) -> Result<Sink, Diagnostic> {
        self.cursor.expect(")")?;
        self.cursor.expect(">>")?;
        let shift = self.cursor.integer()?;
        let function = if self.cursor.take("divide") {
            Some(RootFunction::Divide(if self.cursor.take("down") { Rounding::Down } else { Rounding::Nearest }))
        } else if self.cursor.take("table") {
            let span = self.cursor.peek().span;
            let number: usize = self.cursor.integer()?;
            let unknown = || Diagnostic::new(Code::Undef, span, format!("there is no table {number}"));
            Some(RootFunction::Table(self.program.tables.get(number).ok_or_else(unknown)?.usage))
        } else {
            None
        };
        let lanes = self.lanes(loops)?;
        let walk = if self.cursor.take("walk") { Some(self.walk(loops)?) } else { None };
        Ok(Sink::Tree { unit, shift, function, write, lanes, walk })
    }

    /// An axis that has lanes.
    fn axis(&mut self) -> Result<Axis, Diagnostic> {
        let of = |axis: &Axis| *axis != Axis::Local;
        let axis = Axis::EVERY.into_iter().filter(of).find(|axis| self.cursor.take(&axis.to_string()));
        axis.ok_or_else(|| self.cursor.expected("an axis"))
    }

    fn walk(&mut self, loops: usize) -> Result<Walk, Diagnostic> {
        if self.cursor.take("along") {
            let level = numbered(&mut self.cursor, 'k', loops)?;
            let axis = self.axis()?;
            self.cursor.expect("step")?;
            return Ok(Walk::Along { level, axis, stride: self.cursor.integer()? });
        }
        if self.cursor.take("inside") {
            let level = numbered(&mut self.cursor, 'k', loops)?;
            let axis = self.axis()?;
            let (low, high) = self.range()?;
            let to = if self.cursor.take("to") { self.axis()? } else { Axis::Local };
            self.cursor.expect("step")?;
            return Ok(Walk::Inside { level, axis, to, stride: self.cursor.integer()?, low, high });
        }
        self.cursor.expect("rows")?;
        let waves = numbered(&mut self.cursor, 'k', loops)?;
        self.cursor.expect("columns")?;
        let columns = numbered(&mut self.cursor, 'k', loops)?;
        self.cursor.expect("words")?;
        let words = self.cursor.integer()?;
        self.cursor.expect("lanes")?;
        let (low, high) = self.range()?;
        Ok(Walk::ToRows { waves, columns, words, low, high })
    }

    fn range(&mut self) -> Result<(u32, u32), Diagnostic> {
        let low = self.cursor.integer()?;
        self.cursor.expect("..")?;
        Ok((low, self.cursor.integer()?))
    }

    /// `lanes column 0..5 at k1, row k0`, if they stand here.
    fn lanes(&mut self, loops: usize) -> Result<Lanes, Diagnostic> {
        let mut lanes = Lanes::default();
        if !self.cursor.take("lanes") {
            return Ok(lanes);
        }
        loop {
            let axes = [("pe", Axis::Grid), ("row", Axis::Row), ("column", Axis::Column), ("local", Axis::Local)];
            let axis = axes.into_iter().chain([("tall", Axis::Tall)]).find(|(word, _)| self.cursor.take(word));
            let axis = axis.ok_or_else(|| self.cursor.expected("`row`, `column` or `pe`"))?.1;
            if matches!(self.cursor.peek().kind, Kind::Number(_)) {
                let (low, high) = self.range()?;
                let level = if self.cursor.take("at") { Some(numbered(&mut self.cursor, 'k', loops)?) } else { None };
                lanes.bounds.push(Bound { axis, low, high, level });
            } else {
                let level = Some(numbered(&mut self.cursor, 'k', loops)?);
                *(if axis == Axis::Row { &mut lanes.pick_row } else { &mut lanes.pick_column }) = level;
            }
            if !self.cursor.take(",") {
                return Ok(lanes);
            }
        }
    }

    fn source(&mut self, loops: usize) -> Result<Source, Diagnostic> {
        if self.cursor.sees_id() {
            Ok(Source::Access(self.access(loops)?))
        } else {
            Ok(Source::Word(self.cursor.integer()?))
        }
    }

    /// `%3[4*k0 + 1]`
    fn access(&mut self, loops: usize) -> Result<Access, Diagnostic> {
        let (number, span) = self.cursor.id()?;
        if number >= self.program.storages.len() {
            return Err(Diagnostic::new(Code::Undef, span, format!("there is no storage %{number}")));
        }
        self.cursor.expect("[")?;
        let (offset, terms) = read_sum(&mut self.cursor, 'k', loops)?;
        self.cursor.expect("]")?;
        let mut strides = vec![0; loops];
        for (level, stride) in terms {
            strides[level] += stride;
        }
        Ok(Access { storage: StorageId(number), offset, strides })
    }
}
