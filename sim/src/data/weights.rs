//! Trained weights in formats that other programs read and write: NPY, NPZ, CSV, C.
//!
//! | extension | holds |
//! |---|---|
//! | `npz` | one array of f64 per tensor |
//! | `npy` | one array; for models with one tensor |
//! | `csv` | `tensor,element,value`, elements counted row-major |
//! | `h` | a C array per tensor: the words of the hardware and their binary point if there is one, else doubles |
//!
//! Writing and reading back preserves every bit.

use crate::NamedRanges;
use crate::data::file::Limits;
use crate::data::{npy, npz};
use arch::{Code, Diagnostic};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The weights of one tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Name in the program.
    pub name: String,
    /// Extents, outermost first.
    pub shape: Vec<u32>,
    /// Row-major.
    pub values: Vec<f64>,
    /// Bits after the binary point, if all values are words.
    pub fraction: Option<i32>,
}

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One array of `NumPy`.
    Npy,
    /// Several arrays of `NumPy`.
    Npz,
    /// Text for spreadsheets.
    Csv,
    /// A C header.
    C,
}

impl Format {
    /// By the extension of a file.
    pub fn of_extension(extension: &str) -> Option<Format> {
        match extension.to_ascii_lowercase().as_str() {
            "npy" => Some(Format::Npy),
            "npz" => Some(Format::Npz),
            "csv" => Some(Format::Csv),
            "h" => Some(Format::C),
            _ => None,
        }
    }
}

fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::global(Code::Data, message)
}

/// Write weights; `word` is the width of the words and `valid` what the model is made for, for C.
///
/// # Errors
/// `E-DATA`: one array cannot hold several tensors.
pub fn write(weights: &[Weights], format: Format, word: u32, valid: &NamedRanges) -> Result<Vec<u8>, Diagnostic> {
    let shape = |tensor: &Weights| tensor.shape.iter().map(|&extent| extent as usize).collect::<Vec<_>>();
    match (format, weights) {
        (Format::Npy, [tensor]) => Ok(npy::write(&shape(tensor), &tensor.values)),
        (Format::Npy, _) => {
            let names = weights.iter().map(|tensor| tensor.name.as_str()).collect::<Vec<_>>().join(", ");
            let message = format!("a .npy file holds one array, the model has {} ({names})", weights.len());
            Err(wrong(message).with_help("a .npz file holds several"))
        }
        (Format::Npz, _) => {
            let arrays = weights.iter().map(|tensor| (tensor.name.clone(), shape(tensor), tensor.values.clone()));
            Ok(npz::write(&arrays.collect::<Vec<_>>()))
        }
        (Format::Csv, _) => {
            let mut text = "tensor,element,value\n".to_owned();
            for tensor in weights {
                let name = quoted(&tensor.name);
                for (element, value) in tensor.values.iter().enumerate() {
                    let _ = writeln!(text, "{name},{element},{value}");
                }
            }
            Ok(text.into_bytes())
        }
        (Format::C, _) => Ok(header(weights, word, valid).into_bytes()),
    }
}

/// A name as a cell of a CSV file.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}

/// Names of the program as names of C: letters, digits and `_`. Two that would be the same (macros have capitals only) are told apart by a
/// number, in their order: `w.1` and `w_1` become `w_1` and `w_1_2`.
fn c_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for name in names {
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let is_free = |name: &String| !taken.iter().any(|other| other.eq_ignore_ascii_case(name));
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let free = std::iter::once(plain.clone()).chain(numbered).find(is_free).expect("numbers do not end");
        taken.push(free);
    }
    taken
}

fn header(weights: &[Weights], word: u32, valid: &NamedRanges) -> String {
    let mut text = String::from(
        "/* Weights of a model, written by tabla-gen. No licence of tabla-gen applies to this file. */\n\
         #ifndef TABLA_WEIGHTS_H\n#define TABLA_WEIGHTS_H\n#include <stdint.h>\n",
    );
    let bits = [8, 16, 32].into_iter().find(|&bits| word <= bits).unwrap_or(64);
    let known = || weights.iter().map(|tensor| tensor.name.as_str());
    let inputs: Vec<&str> =
        valid.keys().map(String::as_str).filter(|name| !known().any(|weights| weights == *name)).collect();
    let names = c_names(known().chain(inputs.iter().copied()));
    for (tensor, name) in weights.iter().zip(&names) {
        let extents = tensor.shape.iter().fold(String::new(), |text, extent| text + &format!("[{extent}]"));
        let extents = if extents.is_empty() { "[1]".to_owned() } else { extents };
        let (kind, values): (String, Vec<String>) = match tensor.fraction {
            Some(fraction) => {
                let _ = write!(
                    text,
                    "\n/* value = word / 2^{fraction} */\n#define TABLA_{}_FRACTION ({fraction})\n",
                    name.to_uppercase()
                );
                let words = tensor.values.iter().map(|&value| format!("{}", libm::ldexp(value, fraction)));
                (format!("int{bits}_t"), words.collect())
            }
            // Rust writes the shortest number that is read as the same value, without an exponent.
            None => ("double".to_owned(), tensor.values.iter().map(|value| format!("{value:?}")).collect()),
        };
        let _ = write!(text, "static const {kind} tabla_{name}{extents} = {{");
        for (element, value) in values.iter().enumerate() {
            let space = if element % 12 == 0 { "\n    " } else { " " };
            let _ = write!(text, "{space}{value},");
        }
        text.push_str("\n};\n");
    }
    for (known, name) in known().chain(inputs.iter().copied()).zip(&names) {
        text += &valid.get(known).map_or_else(String::new, |range| guard(name, *range));
    }
    text + "\n#endif\n"
}

/// What the model is made for, and a function that says how many values are not.
fn guard(name: &str, (low, high): (f64, f64)) -> String {
    let capitals = name.to_uppercase();
    format!(
        "
/* The model is made for these values of `{name}`. */
#define TABLA_{capitals}_LOW ({low:?})
#define TABLA_{capitals}_HIGH ({high:?})
/* How many of `count` values are outside, or no numbers: predictions of such values are not to be trusted. */
static inline unsigned long tabla_{name}_outside(const double *values, unsigned long count)
{{
    unsigned long outside = 0, at;
    for (at = 0; at < count; at++)
        outside += !(values[at] >= TABLA_{capitals}_LOW && values[at] <= TABLA_{capitals}_HIGH);
    return outside;
}}
"
    )
}

/// Read weights for tensors of known names and sizes, in any of the formats.
///
/// # Errors
/// `E-DATA`: damaged, a tensor missing or unknown, another number of elements, or a value that is not finite.
pub fn read(bytes: &[u8], format: Format, tensors: &[(String, Vec<u32>)]) -> Result<Vec<Weights>, Diagnostic> {
    let found: Vec<(String, Vec<f64>)> = match format {
        Format::Npy => {
            let array = npy::read(bytes, Limits::default())?;
            let [(name, _)] = tensors else {
                return Err(wrong(format!("a .npy file holds one array, the model has {}", tensors.len()))
                    .with_help("a .npz file holds several"));
            };
            vec![(name.clone(), array.values)]
        }
        Format::Npz => {
            npz::read(bytes, Limits::default())?.into_iter().map(|(name, array)| (name, array.values)).collect()
        }
        Format::Csv => read_csv(bytes)?,
        Format::C => read_header(&String::from_utf8_lossy(bytes))?,
    };
    let names = tensors.iter().map(|(name, _)| name.as_str());
    let written = if format == Format::C { c_names(names) } else { names.map(str::to_owned).collect() };
    let known = || tensors.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some((name, _)) = found.iter().find(|(name, _)| !written.contains(name)) {
        return Err(
            wrong(format!("the model has no weights `{name}`")).with_help(format!("its weights are {}", known()))
        );
    }
    let take = |((name, shape), written): (&(String, Vec<u32>), &String)| {
        let elements = shape.iter().map(|&extent| extent as usize).product::<usize>();
        let mut matching = found.iter().filter(|(found, _)| found == written);
        let Some((_, values)) = matching.next() else { return Err(wrong(format!("the file has no weights `{name}`"))) };
        if matching.next().is_some() {
            return Err(wrong(format!("the file has the weights `{name}` twice")));
        }
        if values.len() != elements {
            return Err(wrong(format!("`{name}` has {elements} weights in the model, {} in the file", values.len())));
        }
        if let Some(element) = values.iter().position(|value| !value.is_finite()) {
            return Err(wrong(format!("element {element} of `{name}` is not finite")));
        }
        Ok(Weights { name: name.clone(), shape: shape.clone(), values: values.clone(), fraction: None })
    };
    tensors.iter().zip(&written).map(take).collect()
}

fn read_csv(bytes: &[u8]) -> Result<Vec<(String, Vec<f64>)>, Diagnostic> {
    let table = crate::data::table::Table::from_csv(bytes)?;
    let [tensor, element, value] = [table.column("tensor")?, table.column("element")?, table.column("value")?];
    let mut found: Vec<(String, Vec<f64>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for row in 0..table.rows.len() {
        let name = &table.rows[row][tensor];
        let at = *places.entry(name).or_insert_with(|| {
            found.push((name.to_owned(), Vec::new()));
            found.len() - 1
        });
        let next = found[at].1.len();
        if table.number(row, element)? != next as f64 {
            return Err(table.wrong(row, element, format!("element {next} of `{name}` is expected")));
        }
        found[at].1.push(table.number(row, value)?);
    }
    Ok(found)
}

/// The arrays `tabla_NAME` of a header as [`write()`] makes it.
fn read_header(text: &str) -> Result<Vec<(String, Vec<f64>)>, Diagnostic> {
    let (mut found, fractions) = (Vec::new(), fractions(text));
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("static const ") {
        let damaged =
            || wrong("the header is damaged: `static const TYPE tabla_NAME[N] = { NUMBER, ... };` is expected");
        let (declaration, after) = after.split_once('=').ok_or_else(damaged)?;
        let (body, after) = after.split_once('}').ok_or_else(damaged)?;
        rest = after;
        let (kind, name) = declaration.split_once(' ').ok_or_else(damaged)?;
        let name = name.trim().strip_prefix("tabla_").and_then(|name| name.split('[').next()).ok_or_else(damaged)?;
        let numbers = body.trim().strip_prefix('{').ok_or_else(damaged)?.split(',').map(str::trim);
        let numbers =
            numbers.filter(|number| !number.is_empty()).map(|number| number.parse::<f64>().map_err(|_| damaged()));
        let mut values = numbers.collect::<Result<Vec<f64>, _>>()?;
        if kind != "double" {
            let fraction = fractions.get(name.to_uppercase().as_str()).copied().flatten();
            let fraction = fraction.ok_or_else(|| wrong(format!("the header has no fraction for `{name}`")))?;
            for value in &mut values {
                *value = libm::ldexp(*value, -fraction);
            }
        }
        found.push((name.to_owned(), values));
    }
    Ok(found)
}

/// What `#define TABLA_NAME_FRACTION (N)` says, by name; nothing where that is not a number.
fn fractions(text: &str) -> BTreeMap<&str, Option<i32>> {
    let mut fractions = BTreeMap::new();
    for definition in text.split("#define TABLA_").skip(1) {
        let line = definition.lines().next().unwrap_or_default();
        if let Some((name, after)) = line.split_once("_FRACTION (") {
            let fraction = after.split_once(')').and_then(|(number, _)| number.parse().ok());
            fractions.entry(name).or_insert(fraction);
        }
    }
    fractions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(fraction: Option<i32>) -> Vec<Weights> {
        let scale = |words: &[f64]| words.iter().map(|&word| libm::ldexp(word, -fraction.unwrap_or(10))).collect();
        vec![
            Weights { name: "w'1".into(), shape: vec![2, 2], values: scale(&[1.0, -513.0, 0.0, 32767.0]), fraction },
            Weights { name: "b".into(), shape: vec![], values: scale(&[-7.0]), fraction },
        ]
    }

    fn tensors() -> Vec<(String, Vec<u32>)> {
        sample(None).into_iter().map(|tensor| (tensor.name, tensor.shape)).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        for fraction in [None, Some(10), Some(-3), Some(40)] {
            for format in [Format::Npz, Format::Csv, Format::C] {
                let weights = sample(fraction);
                let read =
                    read(&write(&weights, format, 16, &NamedRanges::new()).unwrap(), format, &tensors()).unwrap();
                for (read, written) in read.iter().zip(&weights) {
                    assert_eq!(read.values, written.values, "{format:?} {fraction:?}");
                }
            }
        }
        let one = &sample(None)[..1];
        let bytes = write(one, Format::Npy, 16, &NamedRanges::new()).unwrap();
        assert_eq!(read(&bytes, Format::Npy, &tensors()[..1]).unwrap(), one);
    }

    #[test]
    fn the_header_is_c() {
        let text = String::from_utf8(write(&sample(Some(10)), Format::C, 12, &NamedRanges::new()).unwrap()).unwrap();
        assert!(text.contains(
            "#define TABLA_W_1_FRACTION (10)\nstatic const int16_t tabla_w_1[2][2] = {\n    1, -513, 0, 32767,\n};"
        ));
        assert!(text.contains("static const int16_t tabla_b[1] = {\n    -7,\n};"), "{text}");
    }

    #[test]
    fn names_that_look_alike_are_told_apart() {
        assert_eq!(c_names(["w.1", "W_1", "w_1_2", "w_1"].into_iter()), ["w_1", "W_1_2", "w_1_2_2", "w_1_3"]);
        let tensor =
            |name: &str, value| Weights { name: name.into(), shape: vec![1], values: vec![value], fraction: None };
        let weights = [tensor("w.1", 1.0), tensor("w_1", 2.0), tensor("a,\"b\"", 3.0)];
        let tensors: Vec<_> = weights.iter().map(|tensor| (tensor.name.clone(), tensor.shape.clone())).collect();
        for format in [Format::Npz, Format::Csv, Format::C] {
            assert_eq!(
                read(&write(&weights, format, 16, &NamedRanges::new()).unwrap(), format, &tensors).unwrap(),
                weights,
                "{format:?}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let message = |text: &str| read(text.as_bytes(), Format::Csv, &tensors()).unwrap_err().message;
        assert_eq!(message("tensor,element,value\nv,0,1\n"), "the model has no weights `v`");
        assert_eq!(message("tensor,element,value\nb,0,1\n"), "the file has no weights `w'1`");
        assert_eq!(
            message("tensor,element,value\nb,1,1\n"),
            "row 1 (line 2), column `element`: element 0 of `b` is expected"
        );
        assert_eq!(
            message("tensor,element,value\nw'1,0,1\nb,0,1\n"),
            "`w'1` has 4 weights in the model, 1 in the file"
        );
        assert!(
            write(&sample(None), Format::Npy, 16, &NamedRanges::new()).unwrap_err().message.contains("the model has 2")
        );
        let header = |text: &str| read(text.as_bytes(), Format::C, &tensors()).unwrap_err().message;
        assert!(header("static const double tabla_b[1] = {x}").contains("damaged"));
        assert_eq!(header("static const int8_t tabla_b[1] = {1}"), "the header has no fraction for `b`");
    }

    #[test]
    fn extensions_are_formats() {
        let known = ["npy", "NPZ", "csv", "h", "txt"].map(Format::of_extension);
        assert_eq!(known, [Some(Format::Npy), Some(Format::Npz), Some(Format::Csv), Some(Format::C), None]);
    }

    /// Inputs and weights have one function each; weights keep their C names.
    #[test]
    fn the_header_says_what_the_model_is_made_for() {
        let valid = NamedRanges::from([("x".to_owned(), (-1.0, 2.5)), ("w'1".to_owned(), (0.0, 8.0))]);
        let text = String::from_utf8(write(&sample(None), Format::C, 16, &valid).unwrap()).unwrap();
        for name in ["x", "w_1"] {
            assert_eq!(text.matches(&format!("tabla_{name}_outside(")).count(), 1, "{text}");
        }
        assert!(text.contains("#define TABLA_X_LOW (-1.0)\n#define TABLA_X_HIGH (2.5)\n"), "{text}");
        assert!(text.contains("#define TABLA_W_1_HIGH (8.0)\n") && !text.contains("tabla_b_outside"), "{text}");
    }
}
