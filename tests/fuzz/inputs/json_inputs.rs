//! Records of a program's inputs as JSON, with spaces and escapes anywhere: whole, every name has its place, and the program gets the elements
//! that were written or says what is missing; damaged, they are read or refused.

use crate::damage::{Fate, arrive, finite, several};
use arbitrary::{Result, Unstructured};
use compiler::language::{Language, Options, parse};
use serde_json::{Map, Value};
use sim::eval::{Elements, evaluate, read_inputs, unknown_inputs, with_shapes_of};
use sim::golden::Golden;
use workbench::{Records, Source};

/// An input, a label and a weight; none has a size of 1 or of the others.
const PROGRAM: &str = "mu = 0.1; model_input x[2][3]; model_output y; model w[4]; gradient g[4] -> w;
iterator i[0:2]; iterator j[0:3]; iterator k[0:4];
h = sum[i](sum[j](x[i][j])); s = sum[k](w[k]); d = h - s - y; g[k] = d * w[k];";

/// Names and shapes of its inputs.
const INPUTS: [(&str, &[usize]); 3] = [("x", &[2, 3]), ("y", &[]), ("w", &[4])];

/// An element, and what it means.
fn element(u: &mut Unstructured) -> Result<(Value, Option<f64>)> {
    Ok(match u.int_in_range(0..=7)? {
        0 => (Value::Null, None),
        1 => ("nan".into(), Some(f64::NAN)),
        2 => ("-inf".into(), Some(f64::NEG_INFINITY)),
        3 => (true.into(), Some(1.0)),
        4 => {
            let whole: i32 = u.arbitrary()?;
            (whole.into(), Some(whole.into()))
        }
        _ => {
            let value = finite(u)?;
            (value.into(), Some(value))
        }
    })
}

/// Nested lists of this shape, and their elements, row by row.
fn lists(shape: &[usize], elements: &mut Elements, u: &mut Unstructured) -> Result<Value> {
    let Some((extent, inner)) = shape.split_first() else {
        let (value, meaning) = element(u)?;
        elements.push(meaning);
        return Ok(value);
    };
    Ok(Value::Array((0..*extent).map(|_| lists(inner, elements, u)).collect::<Result<_>>()?))
}

/// Any value.
fn any(depth: usize, u: &mut Unstructured) -> Result<Value> {
    Ok(match u.int_in_range(0..=if depth == 0 { 3 } else { 5 })? {
        0 => Value::Null,
        1 => u.arbitrary::<i64>()?.into(),
        2 => finite(u)?.into(),
        3 => u.arbitrary::<String>()?.into(),
        4 => Value::Array(several(u, 4, |u| any(depth - 1, u))?),
        _ => {
            Value::Object(several(u, 3, |u| Ok((u.arbitrary::<String>()?, any(depth - 1, u)?)))?.into_iter().collect())
        }
    })
}

/// A text in quotes, some of its characters as escapes.
fn quoted(text: &str, u: &mut Unstructured) -> Result<String> {
    let mut written = String::from("\"");
    for c in text.chars() {
        if u.ratio(1, 4)? || matches!(c, '"' | '\\' | '\0'..='\u{1f}') {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                written += &format!("\\u{unit:04x}");
            }
        } else {
            written.push(c);
        }
    }
    Ok(written + "\"")
}

/// A value as text, with spaces between its parts; the names of the objects `outermost` levels below go to `names`.
fn write(value: &Value, outermost: usize, names: &mut Vec<String>, u: &mut Unstructured) -> Result<String> {
    let space = |u: &mut Unstructured| -> Result<String> {
        Ok(several(u, 2, |u| Ok(*u.choose(&[" ", "\n", "\t", "\r\n"])?))?.concat())
    };
    let mut text = space(u)?;
    match value {
        Value::Array(list) => {
            let parts = list
                .iter()
                .map(|value| write(value, outermost.saturating_sub(1), names, u))
                .collect::<Result<Vec<_>>>()?;
            text += &format!("[{}]", parts.join(","));
        }
        Value::Object(entries) => {
            let mut parts = Vec::new();
            for (name, value) in entries {
                if outermost == 1 {
                    names.push(name.clone());
                }
                parts.push(format!("{}{}{}:{}", space(u)?, quoted(name, u)?, space(u)?, write(value, 0, names, u)?));
            }
            text += &format!("{{{}}}", parts.join(","));
        }
        Value::String(inner) => text += &quoted(inner, u)?,
        other => text += &other.to_string(),
    }
    Ok(text + &space(u)?)
}

/// The values of a record by their names; nothing where it means nothing.
type Meaning = Option<Vec<(&'static str, Elements)>>;

fn record(u: &mut Unstructured) -> Result<(Value, Meaning)> {
    let (mut entries, mut meaning) = (Map::new(), Some(Vec::new()));
    for (name, shape) in INPUTS {
        if u.ratio(1, 12)? {
            meaning = None;
            if u.arbitrary()? {
                entries.insert(name.to_owned(), any(3, u)?);
            }
            continue;
        }
        let mut elements = Vec::new();
        entries.insert(name.to_owned(), lists(shape, &mut elements, u)?);
        if let Some(meaning) = &mut meaning {
            meaning.push((name, elements));
        }
    }
    if u.ratio(1, 12)? {
        entries.insert(format!("q{}", u.arbitrary::<String>()?), any(3, u)?);
        meaning = None;
    }
    Ok((Value::Object(entries), meaning))
}

fn try_read(u: &mut Unstructured) -> Result<()> {
    let mut built = Vec::new();
    for _ in 0..u.int_in_range(1..=3)? {
        built.push(record(u)?);
    }
    let alone = built.len() == 1 && u.arbitrary()?;
    let values: Vec<Value> = built.iter().map(|(value, _)| value.clone()).collect();
    let value = if alone { values[0].clone() } else { Value::Array(values.clone()) };
    let mut names = Vec::new();
    let text = write(&value, if alone { 1 } else { 2 }, &mut names, u)?;
    let (fate, arrived) = arrive(text.as_bytes(), u)?;
    let text = String::from_utf8_lossy(&arrived).into_owned();
    let records = match Records::parse(Source { name: "in.json".to_owned(), text: text.clone() }) {
        Ok(records) => records,
        Err(failure) => {
            assert!(fate != Fate::Whole, "{failure}: {text}");
            return Ok(());
        }
    };
    for place in records.places() {
        let name: String = serde_json::from_str(&text[place.span.start..place.span.end]).expect("a place holds a name");
        assert_eq!(name, place.name);
    }
    if fate == Fate::Whole {
        assert_eq!(records.all(), values, "{text}");
        assert_eq!(records.places().into_iter().map(|place| place.name).collect::<Vec<_>>(), names);
    }
    for (at, record) in records.all().iter().enumerate() {
        let (program, _) =
            parse(Language::Tabla, PROGRAM, &with_shapes_of(record, Options::default())).expect("a good program");
        let read = read_inputs(&program, record);
        let _ = (evaluate(&program, record, &mut Golden::new(&program)), unknown_inputs(&program, record));
        let Some(meaning) = built.get(at).filter(|_| fate == Fate::Whole).and_then(|(_, meaning)| meaning.as_ref())
        else {
            continue;
        };
        let read = read.unwrap_or_else(|wrong| panic!("{wrong:?}: {record}"));
        assert_eq!(read.len(), meaning.len());
        for (tensor, elements) in read {
            let name = &program.tensors[tensor.0].name;
            let (_, expected) = meaning.iter().find(|(known, _)| known == name).expect("it was written");
            let same = |(a, b): (&Option<f64>, &Option<f64>)| {
                a == b || a.zip(*b).is_some_and(|(a, b)| a.is_nan() && b.is_nan())
            };
            assert!(
                elements.len() == expected.len() && elements.iter().zip(expected).all(same),
                "{name}: {elements:?}, not {expected:?}"
            );
        }
    }
    Ok(())
}

/// Nothing here may panic.
pub(crate) fn read(bytes: &[u8]) {
    let _ = try_read(&mut Unstructured::new(bytes));
}
