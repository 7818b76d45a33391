//! Elements of tensors and loops over them, read back: what [`super::names`] writes.

use super::Cursor;
use super::token::Kind;
use crate::tensor::{Affine, IterId, Iterator, TensorId};
use crate::text::nearest::nearest;
use arch::{Code, Diagnostic};
use std::collections::BTreeMap;

/// Largest bound, coefficient and extent that is read; programs of the languages stay far below.
pub const LARGEST: i64 = 1 << 28;

/// What the names of a text stand for.
#[derive(Debug, Clone, Default)]
pub struct Known {
    tensors: BTreeMap<String, TensorId>,
}

impl Known {
    /// The tensors that a text declares: each line that `begins` goes over the words before the name. A declaration may name a tensor
    /// that comes later, hence this reading of names alone. The cursor stays where it is.
    ///
    /// # Errors
    /// `E-REDEF` for a name that stands twice.
    pub fn declared(
        cursor: &mut Cursor,
        begins: impl Fn(&mut Cursor) -> Result<bool, Diagnostic>,
    ) -> Result<Known, Diagnostic> {
        let (mut known, start) = (Known::default(), cursor.position());
        while !cursor.at_end() {
            if begins(cursor)? {
                let name = cursor.name()?;
                let id = TensorId(known.tensors.len());
                if known.tensors.insert(name.text.clone(), id).is_some() {
                    let message = format!("two tensors are named `{}`", name.text);
                    return Err(Diagnostic::new(Code::Redef, name.span, message));
                }
            }
            cursor.skip_to(&[]);
            cursor.line_end()?;
        }
        cursor.seek(start);
        Ok(known)
    }

    /// The tensor whose name or number stands here.
    ///
    /// # Errors
    /// `E-UNDEF`
    pub fn tensor(&self, cursor: &mut Cursor) -> Result<TensorId, Diagnostic> {
        if cursor.sees_id() {
            let (number, span) = cursor.id()?;
            return if number < self.tensors.len() {
                Ok(TensorId(number))
            } else {
                Err(Diagnostic::new(Code::Undef, span, format!("there is no tensor %{number}")))
            };
        }
        let name = cursor.name()?;
        self.tensors.get(&name.text).copied().ok_or_else(|| {
            let diagnostic = Diagnostic::new(Code::Undef, name.span, format!("no tensor is named `{}`", name.text));
            match nearest(&name.text, self.tensors.keys().map(String::as_str)) {
                Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
                None => diagnostic,
            }
        })
    }

    /// `w[i][2*j + 1]`
    ///
    /// # Errors
    /// `E-SYNTAX`, `E-UNDEF`
    pub fn element(&self, cursor: &mut Cursor, iterators: &[Iterator]) -> Result<(TensorId, Vec<Affine>), Diagnostic> {
        let tensor = self.tensor(cursor)?;
        let mut index = Vec::new();
        while cursor.take("[") {
            index.push(affine(cursor, iterators)?);
            cursor.expect("]")?;
        }
        Ok((tensor, index))
    }

    /// The iterator that stands where a tensor may stand, too: `i`, unless a tensor has that name; `i#1`, `#1`.
    ///
    /// # Errors
    /// `E-SYNTAX`, `E-UNDEF`
    pub fn iterator_value(&self, cursor: &mut Cursor, iterators: &[Iterator]) -> Result<Option<IterId>, Diagnostic> {
        let Kind::Word { text, .. } = &cursor.peek().kind else {
            return if cursor.sees("#") { iterator(cursor, iterators).map(Some) } else { Ok(None) };
        };
        let named = iterators.iter().any(|iterator| iterator.name == *text);
        let is_iterator = named && cursor.sees_name() && !self.tensors.contains_key(text);
        if is_iterator || cursor.second_is("#") { iterator(cursor, iterators).map(Some) } else { Ok(None) }
    }
}

/// The iterator whose name stands here.
fn iterator(cursor: &mut Cursor, iterators: &[Iterator]) -> Result<IterId, Diagnostic> {
    let span = cursor.peek().span;
    if !cursor.sees_name() && !cursor.sees("#") {
        return Err(cursor.expected("an iterator or a number"));
    }
    let name = if cursor.sees("#") { String::new() } else { cursor.name()?.text };
    if cursor.take("#") {
        return Ok(IterId(cursor.integer()?));
    }
    let mut named = iterators.iter().enumerate().filter(|(_, iterator)| iterator.name == name);
    match (named.next(), named.next()) {
        (Some((number, _)), None) => Ok(IterId(number)),
        (None, _) => Err(Diagnostic::new(Code::Undef, span, format!("no iterator is named `{name}`"))),
        (Some((number, _)), Some(_)) => {
            let message = format!("several iterators are named `{name}`");
            Err(Diagnostic::new(Code::Ambig, span, message).with_help(format!("write `{name}#{number}` for the first")))
        }
    }
}

/// `offset + sum(coefficient * iterator)`, term by term.
///
/// # Errors
/// `E-SYNTAX`, `E-UNDEF`
pub fn affine(cursor: &mut Cursor, iterators: &[Iterator]) -> Result<Affine, Diagnostic> {
    let mut value = Affine::default();
    let mut sign: i64 = if cursor.take("-") { -1 } else { 1 };
    loop {
        if let Kind::Number(_) = cursor.peek().kind {
            let size = sign * cursor.bounded::<i64>(LARGEST)?;
            value = if cursor.take("*") {
                value.plus(size, &Affine::iterator(iterator(cursor, iterators)?))
            } else {
                value.plus(1, &Affine::constant(size))
            };
        } else {
            value = value.plus(sign, &Affine::iterator(iterator(cursor, iterators)?));
        }
        sign = match (cursor.take("+"), cursor.take("-")) {
            (true, _) => 1,
            (_, true) => -1,
            (false, false) => return Ok(value),
        };
    }
}

/// The extents of a declaration: `[3][4]`.
///
/// # Errors
/// `E-SYNTAX`; `E-LIMIT` for more elements than any program has.
pub fn shape(cursor: &mut Cursor) -> Result<Vec<u32>, Diagnostic> {
    let (mut shape, mut elements, start) = (Vec::new(), 1i64, cursor.peek().span);
    while cursor.take("[") {
        let extent: u32 = cursor.bounded(LARGEST)?;
        elements = elements.saturating_mul(i64::from(extent));
        shape.push(extent);
        cursor.expect("]")?;
    }
    if elements > LARGEST {
        let message = format!("a tensor of more than {LARGEST} elements");
        return Err(Diagnostic::new(Code::Limit, start, message));
    }
    Ok(shape)
}

/// The loops of a line.
#[derive(Debug, Clone)]
pub struct Loops {
    /// Free iterators first.
    pub iterators: Vec<Iterator>,
    /// How many of them are free.
    pub free: usize,
    /// Where they begin and end, if there are any.
    place: Option<(usize, usize)>,
}

impl Loops {
    /// Those of the line at the cursor, wherever on it they stand. The cursor stays where it is: what comes before the loops needs to
    /// know their names.
    ///
    /// # Errors
    /// `E-SYNTAX`
    pub fn of_line(cursor: &mut Cursor) -> Result<Loops, Diagnostic> {
        let mut loops = Loops { iterators: Vec::new(), free: 0, place: None };
        let start = cursor.position();
        if let Some(place) = cursor.find_on_line(&["for", "over"]) {
            cursor.seek(place);
            loops.free = clause(cursor, "for", &mut loops.iterators)?;
            clause(cursor, "over", &mut loops.iterators)?;
            loops.place = Some((place, cursor.position()));
            cursor.seek(start);
        }
        Ok(loops)
    }

    /// Go behind them; they have to follow here.
    ///
    /// # Errors
    /// `E-SYNTAX` if something else comes before them.
    pub fn pass(&self, cursor: &mut Cursor) -> Result<(), Diagnostic> {
        match self.place {
            Some((place, _)) if cursor.position() != place => Err(cursor.expected("an operator or the loops")),
            Some((_, end)) => {
                cursor.seek(end);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// `for i in 0..3, j in 0..4`; how many.
fn clause(cursor: &mut Cursor, word: &str, iterators: &mut Vec<Iterator>) -> Result<usize, Diagnostic> {
    let before = iterators.len();
    let mut more = cursor.take(word);
    while more {
        let name = cursor.name()?.text;
        let place = cursor.peek().span;
        if cursor.take("#") && cursor.integer::<usize>()? != iterators.len() {
            let message = format!("this is iterator {} of the line", iterators.len());
            return Err(Diagnostic::new(Code::Syntax, place, message));
        }
        cursor.expect("in")?;
        let low = cursor.bounded(LARGEST)?;
        cursor.expect("..")?;
        iterators.push(Iterator { name, low, high: cursor.bounded(LARGEST)? });
        more = cursor.take(",");
    }
    Ok(iterators.len() - before)
}
