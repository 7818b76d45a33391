//! Text form of a schedule: that of [`crate::jobs`], with pad and address of each storage, and the cycle of each job's first beat.
//!
//! ```text
//! scheduled 57 cycles
//! jobs word 16 accumulator 48
//! storage %0 x [3] on [grid] strides [1] words 1 q 13 input of x [3] at [d0] in data at 0
//! storage %1 w [3] on [grid] strides [1] words 1 q 12 state of w [3] at [d0] in model at 0
//! storage %2 h [] on [] strides [] words 1 q 12 temporary in t0 at 0
//! at 0 job "h multiply-add" pes: %2[0] = global root ( + %1[0] * %0[0] >> 0 ) >> 13
//! ```
//!
//! `scheduled 57 cycles, tile 40`: a tile that is not the last one of its batch ends after 40 cycles.
//!
//! Before it has cycles and addresses, a program with pads begins with `coloured`, and has neither.

use super::colour::Coloured;
use super::{Home, Program};
use crate::jobs::text::{self, Reader};
use crate::text::Cursor;
use arch::Diagnostic;
use arch::isa::Pad;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let tile = if self.tile_length < self.length { format!(", tile {}", self.tile_length) } else { String::new() };
        writeln!(f, "scheduled {} cycles{tile}", self.length)?;
        f.write_str(&text::head(&self.step))?;
        for (number, (storage, Home { pad, base })) in self.storages().iter().zip(&self.homes).enumerate() {
            writeln!(f, "{} in {pad} at {base}", text::storage(number, storage))?;
        }
        for (job, start) in self.jobs().iter().zip(&self.starts) {
            writeln!(f, "at {start} {}", text::job(job, &self.step.tables))?;
        }
        Ok(())
    }
}

impl FromStr for Program {
    type Err = Diagnostic;

    /// Read a program; its laws are the caller's to check.
    fn from_str(written: &str) -> Result<Program, Diagnostic> {
        let mut cursor = Cursor::new(written, text::reserved)?;
        cursor.expect("scheduled")?;
        let length = cursor.integer()?;
        cursor.expect("cycles")?;
        let tile_length = tile(&mut cursor, length)?;
        cursor.line_end()?;
        let mut reader = Reader::new(cursor)?;
        let (mut homes, mut starts) = (Vec::new(), Vec::new());
        while !reader.cursor.at_end() {
            let storage = reader.cursor.sees("storage");
            if reader.cursor.take("at") {
                starts.push(reader.cursor.integer()?);
                if !reader.cursor.sees("job") {
                    return Err(reader.cursor.expected("`job`"));
                }
            } else if reader.cursor.sees("job") {
                return Err(reader.cursor.expected("`at` and the cycle of the job"));
            }
            if !reader.line()? {
                return Err(reader.cursor.expected("`table`, `tile`, `storage` or `at`"));
            }
            if storage {
                let pad = pad(&mut reader.cursor)?;
                reader.cursor.expect("at")?;
                homes.push(Home { pad, base: reader.cursor.integer()? });
            }
            reader.cursor.line_end()?;
        }
        Ok(Program { step: reader.program, homes, starts, length, tile_length })
    }
}

impl Display for Coloured {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "coloured")?;
        f.write_str(&text::head(&self.program))?;
        for (number, (storage, pad)) in self.program.storages.iter().zip(&self.pads).enumerate() {
            writeln!(f, "{} in {pad}", text::storage(number, storage))?;
        }
        self.program.jobs.iter().try_for_each(|job| writeln!(f, "{}", text::job(job, &self.program.tables)))
    }
}

impl FromStr for Coloured {
    type Err = Diagnostic;

    fn from_str(written: &str) -> Result<Coloured, Diagnostic> {
        let mut cursor = Cursor::new(written, text::reserved)?;
        cursor.expect("coloured")?;
        cursor.line_end()?;
        let mut reader = Reader::new(cursor)?;
        let mut pads = Vec::new();
        while !reader.cursor.at_end() {
            let storage = reader.cursor.sees("storage");
            if !reader.line()? {
                return Err(reader.cursor.expected("`table`, `tile`, `storage` or `job`"));
            }
            if storage {
                pads.push(pad(&mut reader.cursor)?);
            }
            reader.cursor.line_end()?;
        }
        Ok(Coloured { program: reader.program, pads })
    }
}

/// `, tile 40`, where a tile that is not the last one is shorter than a step.
pub(crate) fn tile<N: FromStr>(cursor: &mut Cursor, step: N) -> Result<N, Diagnostic> {
    if !cursor.take(",") {
        return Ok(step);
    }
    cursor.expect("tile")?;
    cursor.integer()
}

/// `in t0`
fn pad(cursor: &mut Cursor) -> Result<Pad, Diagnostic> {
    cursor.expect("in")?;
    let pad = Pad::ALL.into_iter().find(|pad| cursor.take(&pad.to_string()));
    pad.ok_or_else(|| cursor.expected("the name of a pad"))
}
