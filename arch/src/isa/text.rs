//! Text form of instructions, for people: one line each, defaults left out.
//!
//!     +3 alu  4 x 8 (sum 8)  t0[2] = round((model[0+1k3] << 8) - data[0+8k2+1k3] * t1[5] >> 12)  columns 0..5 at k2

use super::{
    Address, AluInstruction, Combine, Factor, Finish, LEVELS, LoadInstruction, Mask, MoveInstruction, NO_LEVEL, Pad,
    RootFunction, RootInstruction, ScalarInstruction, Segments, Start, TableUse, Tiles, UNLIMITED,
};
use crate::division::Rounding;
use crate::timing::Unit;
use std::fmt::{Display, Formatter, Result};

impl Display for Pad {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(Pad::NAMES[*self as usize])
    }
}

impl Display for Unit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Unit::Row => "row",
            Unit::Global => "global",
            Unit::Across => "across",
        })
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}", self.base)?;
        for (level, stride) in self.strides.iter().enumerate().filter(|(_, stride)| **stride != 0) {
            write!(f, "{stride:+}k{level}")?;
        }
        Ok(())
    }
}

/// Counts of the loops that run more than once.
fn loops(f: &mut Formatter<'_>, counts: &[u32; LEVELS]) -> Result {
    let mut separator = "";
    for (level, count) in counts.iter().enumerate().filter(|(_, count)| **count > 1) {
        write!(f, "{separator}k{level}<{count}")?;
        separator = " ";
    }
    if separator.is_empty() { f.write_str("once") } else { Ok(()) }
}

impl Display for Mask {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let level = |level: u8| if level == NO_LEVEL { String::new() } else { format!(" at k{level}") };
        if self.flat {
            let (low, high) = ((self.row_low, self.column_low), (self.row_high, self.column_high));
            write!(f, "  pes {low:?}..{high:?}{}", level(self.row_level))?;
        } else {
            write!(f, "  rows {}..{}{}", self.row_low, self.row_high, level(self.row_level))?;
            write!(f, "  columns {}..{}{}", self.column_low, self.column_high, level(self.column_level))?;
        }
        if self.pick_row != NO_LEVEL {
            write!(f, "  row k{}", self.pick_row)?;
        }
        if self.pick_column != NO_LEVEL {
            write!(f, "  column k{}", self.pick_column)?;
        }
        Ok(())
    }
}

/// Loops of an alu or scalar instruction, and what is computed in them.
fn value(f: &mut Formatter<'_>, i: &AluInstruction) -> std::result::Result<String, std::fmt::Error> {
    loops(f, &i.counts)?;
    if i.reduce > 0 {
        let what = match i.combine {
            Combine::Add | Combine::Subtract => "sum",
            Combine::Maximum => "max",
            Combine::Minimum => "min",
        };
        write!(f, " ({what} over the last {})", i.reduce)?;
    }
    if i.interval > 1 {
        write!(f, " every {}", i.interval)?;
    }
    let read = |pad: Pad| format!("{pad}[{}]", i.reads[pad as usize]);
    let start = match i.c {
        Start::Zero => None,
        Start::Pad(pad) => Some(format!("({} << {})", read(pad), i.align)),
        Start::Immediate => Some(format!("({} << {})", i.immediate_c, i.align)),
    };
    let b = match i.b {
        Factor::Pad(pad) => read(pad),
        Factor::Immediate => i.immediate_b.to_string(),
    };
    let a = read(i.a);
    let product = if i.square { format!("({a} - {b})^2") } else { format!("{a} * {b}") };
    let start = |separator: &str| start.map_or(String::new(), |start| start + separator);
    Ok(match i.combine {
        Combine::Add => format!("{}+ {product}", start(" ")),
        Combine::Subtract => format!("{}- {product}", start(" ")),
        Combine::Maximum => format!("max({}{product})", start(", ")),
        Combine::Minimum => format!("min({}{product})", start(", ")),
    })
}

/// The word that the value becomes.
fn word(i: &AluInstruction, value: &str) -> String {
    match i.finish {
        Finish::Round => format!("round({value} >> {})", i.shift),
        Finish::Negative => format!("negative({value})"),
        Finish::Positive(limit) => format!("positive({value} >> {}{})", i.shift, limited(limit)),
    }
}

/// What a positive word is at most, if that is less than any word.
fn limited(limit: i32) -> String {
    if limit == UNLIMITED { String::new() } else { format!(", at most {limit}") }
}

impl Display for AluInstruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "+{} alu  ", self.delay)?;
        let value = value(f, self)?;
        match self.write {
            Some(pad) => write!(f, "  {pad}[{}] = ", self.destination)?,
            None if self.emit && self.immediate_c != 0 && self.c != Start::Immediate => {
                write!(f, "  out in {} transfers = ", 1 + (self.immediate_c & 0xff))?;
            }
            None if self.emit => f.write_str("  out = ")?,
            None => f.write_str("  tree = ")?,
        }
        f.write_str(&if self.tree { value } else { word(self, &value) })?;
        write!(f, "{}", self.mask)?;
        match self.tiles {
            Tiles::Every => {}
            Tiles::Last => f.write_str("  in the last tile")?,
            Tiles::Park(address) => write!(f, "  over all tiles, in gradient[{address}]")?,
        }
        f.write_str(if self.end { "  end" } else { "" })
    }
}

impl Display for ScalarInstruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let alu = &self.alu;
        write!(f, "+{} scalar  ", alu.delay)?;
        let value = value(f, alu)?;
        f.write_str("  ")?;
        if let Some(pad) = alu.write {
            write!(f, "{pad}[{}] = ", alu.destination)?;
        }
        f.write_str(if self.send { "global bus = " } else { "" })?;
        f.write_str(&word(alu, &value))?;
        f.write_str(if alu.end { "  end" } else { "" })
    }
}

impl Display for RootInstruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "+{} root  {} x every {}  {} {}(tree {} {}{})",
            self.delay,
            self.count,
            self.interval,
            self.unit,
            if self.positive.is_some() { "positive" } else { "round" },
            if matches!(self.function, Some(RootFunction::Divide(_))) { "<<" } else { ">>" },
            self.shift,
            limited(self.positive.unwrap_or(UNLIMITED))
        )?;
        match &self.function {
            None => {}
            Some(RootFunction::Table(table)) => {
                let kind = if table.segments == Segments::Uniform { "segments" } else { "octaves" };
                let TableUse { base, log2, segment_shift, .. } = table;
                write!(f, " through table {base} (2^{log2} {kind}, {segment_shift} bits inside)")?;
            }
            Some(RootFunction::Divide(Rounding::Nearest)) => f.write_str(" divided")?,
            Some(RootFunction::Divide(Rounding::Down)) => f.write_str(" divided, down")?,
        }
        f.write_str(if self.end { "  end" } else { "" })
    }
}

impl Display for MoveInstruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "+{} move  ", self.delay)?;
        loops(f, &self.counts)?;
        write!(f, " every {}  {}[{}] = {} bus", self.interval, self.pad, self.destination, self.source)?;
        f.write_str(if self.scalar { "  scalar unit," } else { "" })?;
        let late = if self.late { "  in the last tile" } else { "" };
        write!(f, "{}{late}{}", self.mask, if self.end { "  end" } else { "" })
    }
}

impl Display for LoadInstruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("load  ")?;
        loops(f, &self.counts)?;
        let lanes = if self.scatter { "lanes" } else { "lane 0" };
        let pad = if self.gradient { "gradient".to_owned() } else { self.pad.to_string() };
        write!(f, "  {pad}[{}] = {lanes}", self.destination)?;
        if self.pick_group != NO_LEVEL {
            write!(f, "  group k{}", self.pick_group)?;
        }
        f.write_str(if self.scalar { "  scalar unit," } else { "" })?;
        write!(f, "{}{}", self.mask, if self.end { "  end" } else { "" })
    }
}
