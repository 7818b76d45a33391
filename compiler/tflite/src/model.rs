//! The messages of a file: the part of the schema that is needed (`tensorflow/lite/schema`, version 3).

use crate::flat::{Bytes, Damage, Table};
use onnx::elements::count;

/// The identifier behind the first four bytes.
const IDENTIFIER: &[u8] = b"TFL3";
/// Dimensions of a tensor.
const RANK: usize = 8;
/// Elements of a tensor, where no extent is 0.
const ELEMENTS: u64 = 1 << 28;

/// Whether bytes say that they are a `TFLite` file.
pub(crate) fn is_named(bytes: &[u8]) -> bool {
    bytes.get(4..8) == Some(IDENTIFIER)
}

/// The first graph of a file, which is the one that runs.
#[derive(Debug)]
pub(crate) struct Model<'f, 'a> {
    /// Operations in the order in which they run.
    pub(crate) operators: Vec<Operator<'f, 'a>>,
    /// Values.
    pub(crate) tensors: Vec<Tensor<'a>>,
    /// Numbers of the tensors that are given.
    pub(crate) inputs: Vec<usize>,
    /// Numbers of the tensors that come out.
    pub(crate) outputs: Vec<usize>,
}

/// A value.
#[derive(Debug, Clone)]
pub(crate) struct Tensor<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Extents.
    pub(crate) shape: Vec<i64>,
    /// Element type.
    pub(crate) element: i64,
    /// Elements, little-endian, if it is constant.
    pub(crate) data: Option<&'a [u8]>,
    /// Scale and zero point, of all elements or along a dimension.
    pub(crate) quantisation: Option<Quantisation>,
    /// Whether it keeps its value from run to run.
    pub(crate) is_variable: bool,
    /// Whether only elements that are not 0 are there.
    pub(crate) is_sparse: bool,
}

/// `real = scale * (integer - zero)`
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quantisation {
    /// One, or one for each element along `axis`.
    pub(crate) scales: Vec<f32>,
    /// As many.
    pub(crate) zeros: Vec<i64>,
    /// The dimension.
    pub(crate) axis: usize,
}

/// An operation.
#[derive(Debug, Clone)]
pub(crate) struct Operator<'f, 'a> {
    /// Its number in the schema.
    pub(crate) code: i64,
    /// Its name, if it is none of the schema's.
    pub(crate) custom: &'a str,
    /// Numbers of operands; -1: left out.
    pub(crate) inputs: Vec<i64>,
    /// Numbers of results.
    pub(crate) outputs: Vec<usize>,
    /// Settings.
    pub(crate) options: Option<Table<'f, 'a>>,
}

/// Why a file is not read, in words.
pub(crate) type Wrong = String;

fn damaged(damage: Damage) -> Wrong {
    format!("not a TFLite file: {damage}")
}

impl<'f, 'a> Model<'f, 'a> {
    /// Read a file.
    ///
    /// # Errors
    /// It is damaged, or has no graph.
    pub(crate) fn decode(file: &'f Bytes<'a>) -> Result<Model<'f, 'a>, Wrong> {
        let root = file.root().map_err(damaged)?;
        let codes = codes(&root).map_err(damaged)?;
        let graphs = root.tables(2).map_err(damaged)?;
        let graph = graphs.first().ok_or("not a TFLite file: it has no graph")?;
        let buffers = root.tables(4).map_err(damaged)?;
        let tensors = graph.tables(0).map_err(damaged)?;
        let tensors = tensors.iter().map(|table| tensor(file, table, &buffers)).collect::<Result<Vec<_>, _>>()?;
        let inside = |number: i64| {
            let number = usize::try_from(number).ok().filter(|&number| number < tensors.len());
            number.ok_or_else(|| "not a TFLite file: an operator names a tensor that is not there".to_owned())
        };
        let list = |table: &Table<'f, 'a>, field| -> Result<Vec<usize>, Wrong> {
            table.ints(field).map_err(damaged)?.unwrap_or_default().into_iter().map(inside).collect()
        };
        let operator = |table: &Table<'f, 'a>| -> Result<Operator<'f, 'a>, Wrong> {
            let code = table.int(0, 0).map_err(damaged)?;
            let code = usize::try_from(code).ok().and_then(|code| codes.get(code));
            let &(code, custom) = code.ok_or("not a TFLite file: an operator has no name")?;
            let inputs = table.ints(1).map_err(damaged)?.unwrap_or_default();
            inputs.iter().filter(|&&number| number != -1).try_for_each(|&number| inside(number).map(|_| ()))?;
            let options = table.table(4).map_err(damaged)?;
            Ok(Operator { code, custom, inputs, outputs: list(table, 2)?, options })
        };
        let operators = graph.tables(3).map_err(damaged)?.iter().map(operator).collect::<Result<Vec<_>, _>>()?;
        let (inputs, outputs) = (list(graph, 1)?, list(graph, 2)?);
        Ok(Model { operators, tensors, inputs, outputs })
    }
}

/// Numbers and names of operators. Numbers above 127 do not fit the field that old files have.
fn codes<'a>(root: &Table<'_, 'a>) -> Result<Vec<(i64, &'a str)>, Damage> {
    let code = |table: &Table<'_, 'a>| Ok((table.byte(0)?.max(table.int(3, 0)?), table.text(1)?));
    root.tables(1)?.iter().map(code).collect()
}

fn tensor<'a>(file: &Bytes<'a>, table: &Table<'_, 'a>, buffers: &[Table<'_, 'a>]) -> Result<Tensor<'a>, Wrong> {
    let name = table.text(3).map_err(damaged)?;
    let wrong = |why: &str| format!("not a TFLite file: tensor `{name}` {why}");
    let shape = table.ints(0).map_err(damaged)?.unwrap_or_default();
    if shape.len() > RANK || shape.iter().any(|&extent| extent < 0) {
        return Err(wrong(&format!("has {} dimensions, or one that is negative", shape.len())));
    }
    let filled: Vec<i64> = shape.iter().map(|&extent| extent.max(1)).collect();
    if count(&filled, ELEMENTS).is_none() {
        return Err(wrong(&format!("has the shape {shape:?}, more than {ELEMENTS} elements")));
    }
    let buffer = table.int(2, 0).map_err(damaged)?;
    let buffer = usize::try_from(buffer).ok().and_then(|buffer| buffers.get(buffer));
    let data = match buffer {
        Some(buffer) => data(file, buffer).map_err(damaged)?,
        None if buffers.is_empty() => None,
        None => return Err(wrong("names a buffer that is not there")),
    };
    let quantisation = match table.table(4).map_err(damaged)? {
        Some(table) => quantisation(&table, &shape).map_err(|why| wrong(&why))?,
        None => None,
    };
    Ok(Tensor {
        name,
        shape,
        element: table.byte(1).map_err(damaged)?,
        data,
        quantisation,
        is_variable: table.flag(5).map_err(damaged)?,
        is_sparse: table.table(6).map_err(damaged)?.is_some(),
    })
}

/// The bytes of a buffer; large ones lie behind the tables.
fn data<'a>(file: &Bytes<'a>, buffer: &Table<'_, 'a>) -> Result<Option<&'a [u8]>, Damage> {
    let (offset, size) = (buffer.long(1)?, buffer.long(2)?);
    if offset > 1 {
        let number = |number| usize::try_from(number).map_err(|_| Damage::Outside);
        return file.part(number(offset)?, number(size)?).map(Some);
    }
    Ok(buffer.bytes(0)?.filter(|data| !data.is_empty()))
}

fn quantisation(table: &Table<'_, '_>, shape: &[i64]) -> Result<Option<Quantisation>, Wrong> {
    let (scales, mut zeros) = (table.floats(2).map_err(damaged)?, table.longs(3).map_err(damaged)?);
    if scales.is_empty() {
        return Ok(None);
    }
    zeros.resize(scales.len(), zeros.first().copied().unwrap_or(0));
    let axis = table.int(6, 0).map_err(damaged)?;
    let axis = usize::try_from(axis).ok().filter(|&axis| scales.len() == 1 || axis < shape.len());
    let axis = axis.ok_or("has scales along a dimension that is not there")?;
    if scales.len() > 1 && shape[axis] != scales.len() as i64 {
        return Err(format!("has {} scales for {} elements", scales.len(), shape[axis]));
    }
    if scales.iter().any(|scale| !scale.is_finite() || *scale <= 0.0) {
        return Err("has a scale that is not a positive number".into());
    }
    if zeros.iter().any(|zero| zero.unsigned_abs() > 1 << 31) {
        return Err("has a zero point of more than 32 bits".into());
    }
    Ok(Some(Quantisation { scales, zeros, axis }))
}
