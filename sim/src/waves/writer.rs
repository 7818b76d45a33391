//! Changes of values to bytes.
//!
//! | format | numbers | text |
//! |---|---|---|
//! | VCD | binary | `string`, blanks as `\040` (as viewers expect) |
//! | FST | binary | a vector of eight bits per byte, padded with blanks in front: viewers show it with the format ASCII |

use super::signals::{Kind, Signal, Value};
use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType, FstVarDirection,
    FstVarType,
};
use std::io::{self, BufWriter, Seek, Write};
use vcd::{IdCode, TimescaleUnit, VarType};

/// Where bytes go.
pub trait Destination: Write + Seek + Send + Sync {}
impl<T: Write + Seek + Send + Sync> Destination for T {}

/// Which format, and where to.
pub enum WriteWaves {
    /// Value change dump, text.
    Vcd(Box<dyn Destination>),
    /// Fast signal trace, compressed.
    Fst(Box<dyn Destination>),
}

type Bytes = BufWriter<Box<dyn Destination>>;

enum Format {
    Vcd(vcd::Writer<Bytes>, IdCode, Vec<(IdCode, Kind)>),
    Fst(Box<FstBodyWriter<Bytes>>, FstSignalId, Vec<(FstSignalId, Kind)>),
}

/// Writes one file.
pub struct Writer {
    format: Format,
}

/// What the file says wrote it.
const VERSION: &str = concat!("tabla-gen ", env!("CARGO_PKG_VERSION"));

/// FST values are kept in memory until so many bytes have come together.
const FLUSH: usize = 1 << 24;

fn fst_error(error: fst_writer::FstWriteError) -> io::Error {
    match error {
        fst_writer::FstWriteError::Io(error) => error,
        other => io::Error::other(other),
    }
}

impl Writer {
    /// Write the head of the file: scopes, names, kinds. A clock comes first.
    pub(super) fn new(to: WriteWaves, signals: &[Signal]) -> io::Result<Writer> {
        let format = match to {
            WriteWaves::Vcd(to) => head_vcd(BufWriter::new(to), signals)?,
            WriteWaves::Fst(to) => head_fst(BufWriter::new(to), signals).map_err(fst_error)?,
        };
        Ok(Writer { format })
    }

    /// What follows happens at this time: a rising edge of the clock.
    pub(super) fn time(&mut self, time: u64) -> io::Result<()> {
        self.clock(time, true)
    }

    /// The falling edge.
    pub(super) fn fall(&mut self, time: u64) -> io::Result<()> {
        self.clock(time, false)
    }

    fn clock(&mut self, time: u64, high: bool) -> io::Result<()> {
        match &mut self.format {
            Format::Vcd(writer, clock, _) => {
                writer.timestamp(time)?;
                writer.change_scalar(*clock, high)
            }
            Format::Fst(writer, clock, _) => {
                if writer.size() > FLUSH {
                    writer.flush().map_err(fst_error)?;
                }
                writer.time_change(time).map_err(fst_error)?;
                writer.signal_change(*clock, if high { b"1" } else { b"0" }).map_err(fst_error)
            }
        }
    }

    /// Signal number `n` has a new value.
    pub(super) fn change(&mut self, n: usize, value: &Value) -> io::Result<()> {
        match &mut self.format {
            Format::Vcd(writer, _, signals) => {
                let (id, kind) = signals[n];
                match (value, kind) {
                    (Value::Text(text), _) => {
                        writer.change_string(id, &text.replace('\\', "\\134").replace(' ', "\\040"))
                    }
                    (Value::Number(number), Kind::Bits(1)) => writer.change_scalar(id, *number != 0),
                    (Value::Number(number), _) => {
                        writer.change_vector(id, binary(*number, width(kind)).map(|bit| (bit == b'1').into()))
                    }
                }
            }
            Format::Fst(writer, _, signals) => {
                let (id, kind) = signals[n];
                let bits: Vec<u8> = match value {
                    Value::Number(number) => binary(*number, width(kind)).collect(),
                    Value::Text(text) => {
                        let padded = format!("{text:>width$}", width = width(kind) as usize / 8);
                        padded.bytes().flat_map(|byte| binary(byte.into(), 8)).collect()
                    }
                };
                writer.signal_change(id, &bits).map_err(fst_error)
            }
        }
    }

    /// Everything has been said; the file ends at this time.
    pub(super) fn finish(self, time: u64) -> io::Result<()> {
        match self.format {
            Format::Vcd(mut writer, ..) => {
                writer.timestamp(time)?;
                writer.flush()
            }
            Format::Fst(mut writer, ..) => {
                writer.time_change(time).map_err(fst_error)?;
                writer.finish().map_err(fst_error)?.flush()
            }
        }
    }
}

fn width(kind: Kind) -> u32 {
    match kind {
        Kind::Bits(bits) | Kind::Signed(bits) => bits,
        Kind::Text(bytes) => 8 * bytes as u32,
    }
}

/// The lowest bits of a number, highest first, as digits.
fn binary(number: i128, bits: u32) -> impl Iterator<Item = u8> {
    (0..bits).rev().map(move |bit| if number >> bit.min(127) & 1 == 1 { b'1' } else { b'0' })
}

/// Open and close scopes on the way from one signal to the next.
fn walk<E>(signals: &[Signal], mut open: impl FnMut(Step<'_>) -> Result<(), E>) -> Result<(), E> {
    let mut at: &[String] = &[];
    for (n, signal) in signals.iter().enumerate() {
        let common = at.iter().zip(&signal.scope).take_while(|(a, b)| a == b).count();
        for _ in common..at.len() {
            open(Step::Leave)?;
        }
        for scope in &signal.scope[common..] {
            open(Step::Enter(scope))?;
            if at.is_empty() && n == 0 {
                open(Step::Clock)?;
            }
        }
        at = &signal.scope;
        open(Step::Signal(signal))?;
    }
    for _ in at {
        open(Step::Leave)?;
    }
    Ok(())
}

enum Step<'a> {
    Enter(&'a str),
    Leave,
    Clock,
    Signal(&'a Signal),
}

fn head_vcd(bytes: Bytes, signals: &[Signal]) -> io::Result<Format> {
    let mut writer = vcd::Writer::new(bytes);
    writer.version(VERSION)?;
    writer.timescale(1, TimescaleUnit::NS)?;
    let (mut clock, mut ids) = (IdCode::FIRST, Vec::new());
    walk(signals, |step| -> io::Result<()> {
        match step {
            Step::Enter(name) => writer.add_module(name)?,
            Step::Leave => writer.upscope()?,
            Step::Clock => clock = writer.add_wire(1, "clock")?,
            Step::Signal(signal) => {
                let (kind, bits) = match signal.kind {
                    // The size of a string means nothing; viewers want 1.
                    Kind::Text(_) => (VarType::String, 1),
                    other => (VarType::Wire, width(other)),
                };
                ids.push((writer.add_var(kind, bits, &signal.name, None)?, signal.kind));
            }
        }
        Ok(())
    })?;
    writer.enddefinitions()?;
    Ok(Format::Vcd(writer, clock, ids))
}

fn head_fst(bytes: Bytes, signals: &[Signal]) -> fst_writer::Result<Format> {
    let info = FstInfo {
        start_time: 0,
        timescale_exponent: -9,
        version: VERSION.to_owned(),
        // The same input gives the same bytes.
        date: String::new(),
        file_type: FstFileType::Verilog,
    };
    let mut head = FstHeaderWriter::new(bytes, &info)?;
    let (mut clock, mut ids) = (None, Vec::new());
    let var = |head: &mut FstHeaderWriter<Bytes>, name: &str, bits: u32| {
        head.var(name, FstSignalType::bit_vec(bits), FstVarType::Wire, FstVarDirection::Implicit, None)
    };
    walk(signals, |step| -> fst_writer::Result<()> {
        match step {
            Step::Enter(name) => head.scope(name, "", FstScopeType::Module)?,
            Step::Leave => head.up_scope()?,
            Step::Clock => clock = Some(var(&mut head, "clock", 1)?),
            Step::Signal(signal) => ids.push((var(&mut head, &signal.name, width(signal.kind))?, signal.kind)),
        }
        Ok(())
    })?;
    let clock = clock.expect("a grid has signals");
    Ok(Format::Fst(Box::new(head.finish()?), clock, ids))
}
