//! Binary points: one per tensor, as many bits after it as its range leaves, as few less as the machine demands.
//!
//!     range of each tensor ──▶ largest fraction that holds it ──▶ lowered until every operation obeys the laws ──▶ formats
//!
//! Lowering a fraction costs accuracy, so a constant's binary point (which is free) moves first.

mod division;
mod positive;
mod whole_numbers;

pub(super) use division::is_one;

use super::copies::{self, Change, Copies};
use super::numbers::Numbers;
use super::whole::whole;
use crate::canonical::primitive::{Atom, Primitive};
use crate::tensor::{Aggregate, Element, Nest, Program, Role, TensorId};
use arch::number::{quantise, to_f64, word_max, word_min};
use arch::{Code, Diagnostic};

/// The binary points of a program under construction.
pub(super) struct Formats<'a> {
    pub(super) program: &'a Program,
    pub(super) numbers: &'a Numbers,
    /// Range of each tensor with headroom; an update's two tensors share theirs.
    pub(super) ranges: Vec<Option<(f64, f64)>>,
    pub(super) fractions: Vec<i32>,
    pub(super) decided: Vec<String>,
    /// The next value of a state has the state's format.
    pub(super) same_as: Vec<TensorId>,
    pub(super) notes: Vec<Diagnostic>,
    pub(super) errors: Vec<Diagnostic>,
    /// Fractions by range alone.
    wished: Vec<i32>,
    /// Tensors that hold whole numbers only.
    pub(super) whole: Vec<bool>,
    /// What is copied to a tensor or compared for it, if nothing else is written there: it has no binary point of its own.
    moved: Vec<Vec<Atom>>,
    /// What the program needs to keep the bits of a nest.
    change: Option<Change>,
    copies: &'a Copies,
    changed: bool,
    /// Tensors that several nests read, or somebody asks for.
    shared: Vec<bool>,
}

/// Bits that a tensor gives up for a sum that starts with it, before the sum gets a coarser copy.
const START_MAY_LOSE: i32 = 3;

/// Binary points inside one multiply-add.
pub(super) struct Points {
    pub(super) start: i32,
    pub(super) a: i32,
    pub(super) b: i32,
    /// Of the accumulator.
    pub(super) product: i32,
}

/// No tensor has fewer bits after its binary point: statements that feed each other could lower theirs without end.
const LOWEST: i32 = -256;

/// The largest fraction with which `value` fits a word (after rounding).
pub(super) fn best_fraction(low: f64, high: f64, word: u32) -> i32 {
    if low == 0.0 && high == 0.0 {
        return word as i32 - 1;
    }
    let fits = |fraction: i32| {
        let scaled = |value: f64| libm::ldexp(value, fraction);
        scaled(high) < word_max(word) as f64 + 0.5 && scaled(low) >= word_min(word) as f64 - 0.5
    };
    let widest = 3 * word as i32;
    (-64..=widest).rev().find(|&fraction| fits(fraction)).unwrap_or(-64)
}

/// The smallest fraction with which a constant is exact, if a word can hold it exactly.
fn exact_fraction(value: f64, word: u32) -> Option<i32> {
    let best = best_fraction(value, value, word);
    let exact = |fraction: i32| {
        let (w, saturated) = quantise(value, fraction, word);
        !saturated && to_f64(w, fraction).total_cmp(&value).is_eq()
    };
    if !exact(best) {
        return None;
    }
    (-64..=best).find(|&fraction| exact(fraction))
}

/// What an operation copies or compares as it is; nothing where it computes.
fn sources(primitive: &Primitive) -> Vec<Atom> {
    match primitive {
        Primitive::MultiplyAdd { start: Some(value), product: None, negative: false, .. }
        | Primitive::Positive(value, _) => vec![value.clone()],
        Primitive::MultiplyAdd {
            start,
            product: Some((a, Atom::Constant(1.0))),
            square: false,
            scale: 0,
            combine,
            ..
        } if combine.compares() => start.iter().chain([a]).cloned().collect(),
        _ => Vec::new(),
    }
}

/// What is copied to each tensor or compared for it; nothing where there are other values, too.
fn moved(program: &Program, nests: &[(Nest, Primitive)]) -> Vec<Vec<Atom>> {
    let mut moved: Vec<Vec<Atom>> = vec![Vec::new(); program.tensors.len()];
    let mut other: Vec<bool> = program.tensors.iter().map(|tensor| !tensor.role.is_computed()).collect();
    for (nest, primitive) in nests {
        let sources = sources(primitive);
        other[nest.out.0] |= sources.is_empty();
        moved[nest.out.0].extend(sources);
    }
    for update in &program.updates {
        (other[update.state.0], other[update.next.0]) = (true, true);
    }
    moved.into_iter().zip(other).map(|(sources, other)| if other { Vec::new() } else { sources }).collect()
}

impl<'a> Formats<'a> {
    /// Start from ranges and overrides.
    pub(super) fn new(
        program: &'a Program,
        ranges: &crate::ranges::Ranges,
        numbers: &'a Numbers,
        nests: &[(Nest, Primitive)],
        copies: &'a Copies,
    ) -> Formats<'a> {
        let count = program.tensors.len();
        let mut same_as: Vec<TensorId> = (0..count).map(TensorId).collect();
        for update in &program.updates {
            same_as[update.next.0] = update.state;
        }
        let grow = libm::ldexp(1.0, numbers.headroom as i32);
        let mut merged: Vec<Option<(f64, f64)>> = vec![None; count];
        for id in 0..count {
            let range = match &program.tensors[id].role {
                Role::Parameter(values) => {
                    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
                    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    (!values.is_empty()).then_some((low, high))
                }
                _ => ranges.tensors.get(id).copied().flatten().map(|(low, high)| (low * grow, high * grow)),
            };
            let slot = &mut merged[same_as[id].0];
            *slot = match (*slot, range) {
                (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                (one, other) => one.or(other),
            };
        }
        let mut formats = Formats {
            program,
            numbers,
            ranges: merged,
            fractions: vec![0; count],
            decided: vec![String::new(); count],
            same_as,
            notes: Vec::new(),
            errors: Vec::new(),
            wished: Vec::new(),
            whole: Vec::new(),
            moved: moved(program, nests),
            change: None,
            copies,
            changed: false,
            shared: positive::shared(program),
        };
        formats.whole = whole(program, nests, &formats.same_as);
        for id in 0..count {
            let tensor = &program.tensors[id];
            let given = numbers.fractions.get(&tensor.name).copied().or(copies.fraction(TensorId(id)));
            let constant = matches!(tensor.role, Role::Parameter(_));
            let (fraction, decided) = match (given, formats.ranges[id]) {
                (Some(given), _) if formats.is_whole(id) => (given.max(0), "given".to_string()),
                (Some(given), _) => (given, "given".to_string()),
                (None, _) if formats.is_whole(id) => (0, "whole numbers".to_string()),
                (None, Some((low, high))) if formats.whole[id] && !constant => {
                    (best_fraction(low, high, numbers.word).min(0), "whole numbers".to_string())
                }
                (None, Some((low, high))) => (best_fraction(low, high, numbers.word), "its range".to_string()),
                (None, None) => (numbers.word as i32 / 2, "default: nothing is known about its values".to_string()),
            };
            formats.fractions[id] = fraction;
            formats.decided[id] = decided;
        }
        formats.wished.clone_from(&formats.fractions);
        formats
    }

    pub(super) fn fraction(&self, tensor: TensorId) -> i32 {
        self.fractions[self.same_as[tensor.0].0]
    }

    pub(super) fn range(&self, tensor: TensorId) -> Option<(f64, f64)> {
        self.ranges[self.same_as[tensor.0].0]
    }

    /// Give `tensor` at most `fraction` bits after the binary point.
    fn lower(&mut self, tensor: TensorId, fraction: i32, why: &str, nest: &Nest) {
        let id = self.same_as[tensor.0];
        if self.fractions[id.0] <= fraction {
            return;
        }
        if fraction < LOWEST {
            self.reject(nest, &format!("no binary point suits its values: {why}"));
            return;
        }
        let name = &self.program.tensors[id.0].name;
        if self.numbers.fractions.contains_key(name) {
            let message = format!(
                "`{name}` gets {fraction} bits after the binary point instead of the {} given",
                self.fractions[id.0]
            );
            self.notes.retain(|note| !note.message.starts_with(&format!("`{name}` gets ")));
            self.notes.push(Diagnostic::new(Code::WarnNumber, nest.origin.span(), message).with_label(why.to_string()));
        }
        if fraction < 0 && self.is_whole(id.0) {
            self.reject(nest, &format!("the whole numbers of `{name}` have no room: {why}"));
        } else if fraction < 0 && matches!(self.program.tensors[id.0].element, Element::Int { .. }) {
            self.reject(nest, &format!("the integers of `{name}` have no room: {why}"));
        }
        self.fractions[id.0] = fraction;
        self.decided[id.0] = why.to_string();
        self.changed = true;
    }

    /// Lower fractions until all operations obey the laws.
    ///
    /// `Err`: an operand needs a copy with another binary point first.
    pub(super) fn settle(&mut self, nests: &[(Nest, Primitive)]) -> Result<(), Change> {
        for (nest, primitive) in nests {
            let id = self.same_as[nest.out.0].0;
            match primitive {
                Primitive::MultiplyAdd { negative: true, .. } => {
                    self.fractions[id] = 0;
                    self.decided[id] = "the result of a comparison, 0 or 1".to_string();
                }
                Primitive::MultiplyAdd { whole: true, .. } | Primitive::Divide { down: true, .. } => {
                    if let more @ 1.. = -self.fractions[id] {
                        let bits = self.numbers.word as i32 + more;
                        self.reject(
                            nest,
                            &format!("a whole number this large has no room, it takes words of {bits} bits"),
                        );
                    }
                    self.fractions[id] = 0;
                    self.decided[id] = "whole numbers".to_string();
                }
                _ => {}
            }
        }
        for (id, tensor) in self.program.tensors.iter().enumerate() {
            if matches!(tensor.element, Element::Int { .. }) && self.fractions[self.same_as[id].0] < 0 {
                let message =
                    format!("the integers of `{}` do not fit words of {} bits", tensor.name, self.numbers.word);
                let help = "use wider words, or real elements, which may lose their last places";
                self.errors.push(Diagnostic::new(Code::Backend, tensor.span, message).with_help(help));
            }
        }
        if !self.errors.is_empty() {
            return Ok(());
        }
        loop {
            self.changed = false;
            for (number, (nest, primitive)) in nests.iter().enumerate() {
                self.constrain(number, nest, primitive);
                if let Some(change) = self.change.take() {
                    return Err(change);
                }
                if !self.errors.is_empty() {
                    return Ok(());
                }
            }
            if !self.changed || !self.errors.is_empty() {
                self.keep_whole_numbers(nests);
                self.note_whole_numbers();
                self.note_whole_constants(nests);
                return Ok(());
            }
        }
    }

    fn constrain(&mut self, number: usize, nest: &Nest, primitive: &Primitive) {
        let word = self.numbers.word as i32;
        self.constrain_move(nest);
        match primitive {
            Primitive::MultiplyAdd { start, product, square, scale, negative, .. } => {
                if let (Some((a, b)), true) = (product, square) {
                    self.constrain_difference(nest, a, b);
                }
                self.constrain_multiply_add(
                    (number, nest),
                    start.as_ref(),
                    product.as_ref(),
                    (*square, *scale),
                    *negative,
                );
            }
            Primitive::Product(factor) => {
                self.lower(nest.out, word - 2, "a product starts at 1, which has to fit", nest);
                if let Atom::Read(tensor, _) = factor {
                    self.lower(*tensor, 63, "a product shifts by at most 63", nest);
                    if self.fraction(*tensor) < 0 {
                        self.reject(nest, "a product of values this large has no room");
                    }
                }
                if self.fraction(nest.out) < 0 {
                    self.reject(nest, "the product is too large to start at 1 in its format");
                }
            }
            Primitive::Divide { dividend: Atom::Read(tensor, _), divisor, down: true } if is_one(divisor) => {
                // The format holds nothing but what lies between -1 and 1.
                if self.fraction(*tensor) >= word {
                    self.change = Some(Change::Sign(number));
                }
            }
            // Dividend and divisor lie side by side in one sum.
            Primitive::Divide { .. } if self.numbers.accumulator < 2 * self.numbers.word + 2 => {
                let wanted = 2 * self.numbers.word + 2;
                self.reject(
                    nest,
                    &format!(
                        "a quotient needs an accumulator of {wanted} bits, the machine has {}",
                        self.numbers.accumulator
                    ),
                );
            }
            Primitive::Divide { dividend, divisor, down } => {
                self.constrain_division((number, nest), dividend, divisor, *down);
            }
            Primitive::Positive(value, _) => self.constrain_positive(nest, value),
            // Its table is chosen when all formats are.
            Primitive::Function(..) => {}
        }
    }

    /// What is subtracted from each other has one binary point.
    fn constrain_difference(&mut self, nest: &Nest, a: &Atom, b: &Atom) {
        let point = |atom: &Atom| match atom {
            Atom::Read(tensor, _) => self.fraction(*tensor),
            Atom::Constant(value) => best_fraction(*value, *value, self.numbers.word),
        };
        let coarser = point(a).min(point(b));
        for atom in [a, b] {
            if let Atom::Read(tensor, _) = atom {
                self.lower(*tensor, coarser, "the square of its difference to what has no more bits", nest);
            }
        }
    }

    /// The words of a tensor's range, with an eighth of it `beyond` each end if that is asked for.
    pub(super) fn words(&self, tensor: TensorId, beyond: bool) -> (i64, i64) {
        let (least, most) = (word_min(self.numbers.word) as f64, word_max(self.numbers.word) as f64);
        let Some((low, high)) = self.range(tensor) else { return (least as i64, most as i64) };
        let (more, fraction) = ((high - low) / 8.0, self.fraction(tensor));
        let word = |value: f64| libm::ldexp(value, fraction).clamp(least, most);
        // Positive values stay positive: functions of these grow without end towards zero.
        let low = match beyond {
            true if low > 0.0 => low / 2.0,
            true => low - more,
            false => low,
        };
        let high = if beyond { high + more } else { high };
        (libm::floor(word(low)) as i64, libm::ceil(word(high)) as i64)
    }

    /// The bits after its binary point that a constant start needs: all that it has, or that a word gives it where it is compared.
    fn constant_start(&self, start: Option<&Atom>, negative: bool) -> Option<i32> {
        let Some(Atom::Constant(value)) = start else { return None };
        let exact = exact_fraction(*value, self.numbers.word);
        exact.or_else(|| negative.then(|| best_fraction(*value, *value, self.numbers.word)))
    }

    /// Binary points of a multiply-add, with those of constants chosen.
    pub(super) fn points(
        &self,
        out: TensorId,
        start: Option<&Atom>,
        product: Option<&(Atom, Atom)>,
        (square, scale): (bool, i32),
        negative: bool,
    ) -> Points {
        let (word, spare) = (self.numbers.word, self.numbers.word as i32 + 12);
        let even = |other: i32, wanted: i32| wanted.saturating_sub(other).saturating_add(scale);
        let start_fraction = match start {
            Some(Atom::Read(tensor, _)) => Some(self.fraction(*tensor)),
            _ => None,
        };
        let out_fraction = (!negative).then(|| self.fraction(out));
        let wanted = start_fraction.max(out_fraction).max(self.constant_start(start, negative));
        let Some((a, b)) = product else {
            let product = wanted.unwrap_or(match start {
                Some(Atom::Constant(value)) => best_fraction(*value, *value, word),
                _ => 0,
            });
            let start = match start {
                Some(Atom::Constant(value)) => product.min(best_fraction(*value, *value, word)),
                _ => start_fraction.unwrap_or(product),
            };
            return Points { start, a: 0, b: 0, product };
        };
        let fixed = |atom: &Atom, other: Option<i32>| match atom {
            Atom::Read(tensor, _) => self.fraction(*tensor),
            Atom::Constant(value) => {
                let best = best_fraction(*value, *value, word);
                match (exact_fraction(*value, word), other, wanted) {
                    (Some(exact), Some(other), Some(wanted)) => even(other, wanted).clamp(exact, best),
                    (Some(exact), ..) => exact.max(0).min(best),
                    // The last bits of a constant that is small beside the result move no rounding.
                    (None, Some(other), Some(wanted)) => best.min(even(other, wanted).saturating_add(spare)),
                    (None, ..) => best,
                }
            }
        };
        let a_fraction = fixed(a, None);
        let b_fraction = match b {
            Atom::Constant(_) if square => a_fraction,
            b => fixed(b, Some(a_fraction)),
        };
        // A tensor of zeros takes any binary point, however far out.
        let product = a_fraction.saturating_add(b_fraction).saturating_sub(scale);
        let start = match start {
            Some(Atom::Constant(value)) => product.min(best_fraction(*value, *value, word)),
            _ => start_fraction.unwrap_or(product),
        };
        Points { start, a: a_fraction, b: b_fraction, product }
    }

    /// What is only copied, or the largest or smallest of some, has the binary point of what it was: no word changes.
    fn constrain_move(&mut self, nest: &Nest) {
        let exact = |value: f64| exact_fraction(value, self.numbers.word).map_or(i32::MAX, |exact| exact.max(0));
        let finest = self.moved[nest.out.0].iter().map(|atom| match atom {
            Atom::Read(tensor, _) => self.fraction(*tensor),
            Atom::Constant(value) => exact(*value),
        });
        let Some(finest) = finest.max() else { return };
        self.lower(nest.out, finest, "a copy has the binary point of what it was", nest);
    }

    /// A copy of a factor with so many bits more, if it has room for some of them.
    fn finer(&self, (number, nest): (usize, &Nest), factors: &[&Atom], more: i32) -> Option<Change> {
        let room = |tensor: TensorId| {
            let (low, high) = self.range(tensor)?;
            let room = best_fraction(low, high, self.numbers.word) - self.fraction(tensor);
            (room > 0 && self.copies.fraction(tensor).is_none() && tensor != nest.out).then_some((room, tensor))
        };
        let tensors = factors.iter().filter_map(|atom| room(atom.tensor()?));
        let (room, tensor) = tensors.max_by_key(|&(room, tensor)| (room, std::cmp::Reverse(tensor)))?;
        Some(Change::Fine(number, tensor, self.fraction(tensor) + room.min(more)))
    }

    fn constrain_multiply_add(
        &mut self,
        (number, nest): (usize, &Nest),
        start: Option<&Atom>,
        product: Option<&(Atom, Atom)>,
        (square, scale): (bool, i32),
        negative: bool,
    ) {
        let points = self.points(nest.out, start, product, (square, scale), negative);
        let Some((a, b)) = product else {
            if !negative {
                let room = (self.numbers.accumulator - self.numbers.word) as i32;
                self.lower(nest.out, points.start + room.min(63), "its source has far fewer bits", nest);
                let points = self.points(nest.out, start, product, (square, scale), negative);
                let shift = points.product - self.fraction(nest.out);
                if shift > 63 && copies::sum_from(self.program, nest.out).is_some() && nest.out.0 >= self.copies.from {
                    self.change = Some(Change::Nothing(number));
                    return;
                }
                self.within(nest, points.product - points.start, shift, &[]);
            }
            return;
        };
        let wanted = match start {
            Some(Atom::Read(tensor, _)) => Some(self.fraction(*tensor)),
            // A number that no word holds exactly has as many bits as the result.
            Some(Atom::Constant(value)) => self
                .constant_start(start, negative)
                .or_else(|| Some(best_fraction(*value, *value, self.numbers.word).min(self.fraction(nest.out)))),
            None => None,
        };
        if let Some(wanted) = wanted.filter(|&wanted| wanted > points.product && !square)
            && let Some(change) = self.finer((number, nest), &[a, b], wanted - points.product)
        {
            self.change = Some(change);
            return;
        }
        if !negative {
            self.lower(nest.out, points.product, "its operands have no more bits", nest);
        }
        if let Some(Atom::Read(tensor, _)) = start {
            let (id, lost) = (self.same_as[tensor.0], self.fraction(*tensor) - points.product);
            let is_factor = [a, b].iter().any(|atom| matches!(atom, Atom::Read(t, _) if self.same_as[t.0] == id));
            let before = self.wished[id.0] - self.fraction(*tensor);
            if lost > 0
                && (is_factor || lost + before > START_MAY_LOSE)
                && self.same_as[nest.out.0] != id
                && tensor.0 < self.copies.from
            {
                self.change = Some(Change::Start(number));
                return;
            }
            self.lower(*tensor, points.product, "what is added to it has no more bits", nest);
        }
        let shift = if negative { 0 } else { points.product - self.fraction(nest.out) };
        let factors: Vec<TensorId> = [a, b].into_iter().filter_map(Atom::tensor).collect();
        let points = self.points(nest.out, start, product, (square, scale), negative);
        self.within(nest, points.product - points.start, shift, &factors);
        if !self.covered(nest, start, product, (square, scale), negative).0 {
            self.lower_one(nest, &factors, "the accumulator's width");
        }
    }

    /// Keep shifts within the instruction's 63.
    fn within(&mut self, nest: &Nest, align: i32, shift: i32, factors: &[TensorId]) {
        if align <= 63 && shift <= 63 {
            return;
        }
        if factors.is_empty() {
            self.reject(nest, "two formats of this statement are more than 63 bits apart");
        } else {
            self.lower_one(nest, factors, "shifts by at most 63");
        }
    }

    /// Lower the factor that has most bits after the binary point.
    fn lower_one(&mut self, nest: &Nest, factors: &[TensorId], why: &str) {
        let Some(&factor) = factors.iter().max_by_key(|&&t| (self.fraction(t), std::cmp::Reverse(t))) else {
            self.reject(nest, &format!("{why} is not enough for this statement"));
            return;
        };
        let fraction = self.fraction(factor) - 1;
        if fraction < -2 * self.numbers.word as i32 {
            self.reject(nest, &format!("{why} is not enough for this statement"));
            return;
        }
        self.lower(factor, fraction, why, nest);
    }

    /// Whether every final sum fits the accumulator, and whether formats alone prove it (else ranges do).
    pub(super) fn covered(
        &self,
        nest: &Nest,
        start: Option<&Atom>,
        product: Option<&(Atom, Atom)>,
        (square, scale): (bool, i32),
        negative: bool,
    ) -> (bool, bool) {
        let points = self.points(nest.out, start, product, (square, scale), negative);
        let limit = libm::ldexp(1.0, self.numbers.accumulator as i32 - 1) - 1.0;
        let count: f64 = nest.iterators[nest.free..].iter().map(|i| i.extent() as f64).product();
        let largest = |atom: &Atom, fraction: i32, by_range: bool| match atom {
            Atom::Constant(value) => (quantise(*value, fraction, self.numbers.word).0 as f64).abs(),
            Atom::Read(tensor, _) => {
                let format = -word_min(self.numbers.word) as f64;
                match self.range(*tensor) {
                    Some((low, high)) if by_range => {
                        format.min(libm::ceil(libm::ldexp(low.abs().max(high.abs()), fraction)) + 1.0)
                    }
                    _ => format,
                }
            }
        };
        let extreme = matches!(nest.aggregate, Aggregate::Max | Aggregate::Min);
        let bound = |by_range: bool| {
            let start = start.map_or(0.0, |atom| {
                libm::ldexp(largest(atom, points.start, by_range), (points.product - points.start).clamp(-64, 200))
            });
            let product = product.map_or(0.0, |(a, b)| {
                let (a, b) = (largest(a, points.a, by_range), largest(b, points.b, by_range));
                if square { (a + b) * (a + b) } else { a * b }
            });
            if extreme { start.max(product) } else { start + count * product }
        };
        if bound(false) <= limit {
            return (true, true);
        }
        let by_result = match self.range(nest.out) {
            // Room for the rounding of the operands: one more bit.
            Some((low, high)) if !negative => libm::ldexp(low.abs().max(high.abs()), points.product) * 2.0,
            _ => f64::INFINITY,
        };
        (bound(true).min(by_result) <= limit, false)
    }

    fn reject(&mut self, nest: &Nest, why: &str) {
        let name = &self.program.tensors[nest.out.0].name;
        let message = format!("`{name}` cannot be computed with {}-bit words: {why}", self.numbers.word);
        self.errors.push(
            Diagnostic::new(Code::Backend, nest.origin.span(), message)
                .with_help("use wider words or a wider accumulator, or scale the data"),
        );
    }
}
