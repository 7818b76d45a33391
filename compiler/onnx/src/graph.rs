//! A graph, node by node, into a program.
//!
//! ```text
//! inputs ──▶ Input tensors       initialisers ──▶ Parameters       nodes ──▶ Nests       outputs ──▶ Output tensors
//! ```
//!
//! Bodies of `If`, `Loop` and `Scan` and functions of the file are translated where they are used.

use crate::build::{Builder, Refusal, Translated, Val, unsupported};
use crate::call::{Call, Slot};
use crate::elements::{self, Beside, Constants, Kind};
use crate::functions::{self, DEPTH, Functions, NODES};
use crate::integers::reads;
use crate::model::{Attribute, Dimension, Function, Graph, Model, Node, ValueInfo};
use crate::names;
use crate::operators;
use crate::statics::{live, needed_statically};
use arch::{Code, Diagnostic, Span};
use compiler::language::{Options, Parsed};
use compiler::tensor::{Affine, Program, Role, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// Operands that become one expression.
const OPERANDS: usize = 512;
/// The element type of texts.
const TEXT: i64 = 8;
/// Texts that a warning lists.
const SHOWN: usize = 20;

/// What a file is read with.
pub struct Reading<'r> {
    /// Sizes (`set`), shapes of the host's values, limits.
    pub options: &'r Options,
    /// Values of the host, for inputs that decide shapes.
    pub given: &'r [(String, Constants)],
    /// Files beside the model.
    pub beside: Beside<'r>,
    /// Initialisers that are trained, and so are not constants.
    pub weights: Weights<'r>,
}

/// Which initialisers are trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Weights<'w> {
    /// None: all are constants.
    None,
    /// These.
    Named(&'w [String]),
}

impl Weights<'_> {
    fn has(self, name: &str) -> bool {
        matches!(self, Weights::Named(names) if names.iter().any(|known| known == name))
    }
}

/// Names that are visible.
#[derive(Default)]
struct Frame {
    values: BTreeMap<String, Slot>,
    /// Whether those of the frame before are visible, too.
    open: bool,
}

/// A translation at work.
pub(crate) struct Lowering<'r, 'm> {
    /// The program so far.
    pub(crate) builder: Builder,
    /// Versions of domains.
    opsets: Vec<(String, i64)>,
    model: &'r Model<'m>,
    frames: Vec<Frame>,
    functions: Functions<'r, 'm>,
    beside: Beside<'r>,
    nodes: u64,
    warnings: Vec<Diagnostic>,
    /// Texts, which are numbers here.
    texts: Vec<Vec<u8>>,
}

/// The program of a model.
///
/// # Errors
/// What cannot be read or translated, with its line in the listing.
pub(crate) fn lower(model: &Model<'_>, lines: &crate::listing::Lines, reading: &Reading<'_>) -> Parsed {
    names::once(model, lines)?;
    let mut lowering = Lowering {
        builder: Builder::new(reading.options.limits),
        opsets: model.opsets.iter().map(|&(domain, version)| (domain.to_owned(), version)).collect(),
        model,
        frames: vec![Frame::default()],
        functions: Functions::of(model),
        beside: reading.beside,
        nodes: 0,
        warnings: Vec::new(),
        texts: Vec::new(),
    };
    lowering.whole(lines, reading)?;
    let Lowering { builder, mut warnings, .. } = lowering;
    let (mut program, inexact) = (builder.program, builder.inexact);
    without_unused_nests(&mut program);
    warnings.extend(inexact.warnings(&program));
    without_unused(&mut program);
    Ok((program, warnings))
}

impl<'m> Lowering<'_, 'm> {
    fn whole(&mut self, lines: &crate::listing::Lines, reading: &Reading<'_>) -> Result<(), Vec<Diagnostic>> {
        let graph = &self.model.graph;
        let mut wrong = Vec::new();
        let at = |refusal: Refusal, span: Span, what: String| diagnostic(refusal, span, &what);
        let statics = needed_statically(graph);
        for (n, data) in graph.initialisers.iter().enumerate() {
            self.builder.span = lines.initialisers[n];
            if let Err(refusal) = self.initialiser(data, reading.weights.has(data.name)) {
                wrong.push(at(refusal, lines.initialisers[n], format!("initialiser `{}`", data.name)));
            }
        }
        for sparse in &graph.sparse {
            let constants = elements::dense(sparse, self.builder.most(), self.beside);
            let read = constants.map_err(|why| Refusal::new(Code::Data, why)).and_then(|constants| {
                self.builder.name = sparse.values.name.into();
                self.builder.read_constants(constants)
            });
            match read {
                Ok(value) => self.define(sparse.values.name, Slot::Tensor(value)),
                Err(refusal) => {
                    wrong.push(at(refusal, Span::default(), format!("initialiser `{}`", sparse.values.name)));
                }
            }
        }
        let constants: BTreeSet<&str> = graph.initialisers.iter().map(|data| data.name).collect();
        for (n, info) in graph.inputs.iter().enumerate().filter(|(_, info)| !constants.contains(info.name)) {
            self.builder.span = lines.inputs[n];
            if let Err(refusal) = self.graph_input(info, statics.contains(info.name), reading) {
                wrong.push(at(refusal, lines.inputs[n], format!("input `{}`", info.name)));
            }
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let live = live(graph);
        for (n, node) in graph.nodes.iter().enumerate().filter(|(n, _)| live[*n]) {
            self.builder.span = lines.nodes[n];
            if let Err(refusal) = self.node(node, 0) {
                let name = node.outputs.iter().find(|name| !name.is_empty()).copied().unwrap_or_default();
                let named = if node.name.is_empty() {
                    format!("the node of `{name}`")
                } else {
                    format!("node `{}`", node.name)
                };
                return Err(vec![at(refusal, lines.nodes[n], format!("{named}, operator {}", operator_name(node)))]);
            }
        }
        for (n, info) in graph.outputs.iter().enumerate() {
            self.builder.span = lines.outputs[n];
            if let Err(refusal) = self.graph_output(info) {
                wrong.push(at(refusal, lines.outputs[n], format!("output `{}`", info.name)));
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    fn initialiser(&mut self, data: &crate::model::TensorData<'m>, trained: bool) -> Translated<()> {
        if data.data_type == TEXT {
            let values: Vec<f64> = data.texts.iter().map(|text| self.number_of_text(text)).collect();
            self.builder.name = data.name.into();
            let value = self.builder.constants(&data.dimensions, Kind::INT64, values)?;
            self.define(data.name, Slot::Tensor(value));
            return Ok(());
        }
        let constants = elements::constants(data, self.builder.most(), self.beside);
        let constants = constants.map_err(|why| Refusal::new(Code::Data, why))?;
        self.builder.name = data.name.into();
        let value = self.builder.read_constants(constants)?;
        if trained {
            self.builder.program.tensors[value.id.0].role = Role::State;
        }
        self.define(data.name, Slot::Tensor(value));
        Ok(())
    }

    fn graph_input(&mut self, info: &ValueInfo<'m>, is_static: bool, reading: &Reading<'_>) -> Translated<()> {
        let Some(kind) = Kind::of_number(info.data_type) else {
            let what = if info.data_type == 0 {
                "not a tensor".into()
            } else {
                format!("made of {}", elements::type_name(info.data_type))
            };
            return unsupported(format!("it is {what}"), "inputs are tensors of numbers or truth values");
        };
        self.builder.name = info.name.into();
        let given = reading.given.iter().find(|(name, _)| name == info.name);
        if is_static && let Some((_, constants)) = given {
            // The program keeps the input, whose value it was read with.
            self.builder.tensor(&constants.shape, kind, Role::Input)?;
            let value = self.builder.constants(&constants.shape, kind, constants.values.clone())?;
            self.define(info.name, Slot::Tensor(value));
            return Ok(());
        }
        let (shape, assumed) = Lowering::input_shape(info, reading)?;
        // A step of a training takes one row whatever the batch is.
        if let Some(name) = assumed.filter(|_| reading.options.training.is_none()) {
            let message = format!("input `{}`: its dimension `{name}` is open, and is 1 here", info.name);
            self.warnings.push(
                Diagnostic::new(Code::WarnShape, self.builder.span, message).with_label("here").with_help(format!(
                    "`--shape {name}=4` gives it another size; `--shape {name}=1` says that 1 is meant"
                )),
            );
        }
        let value = self.builder.tensor(&shape, kind, Role::Input)?;
        self.define(info.name, Slot::Tensor(value));
        Ok(())
    }

    /// The shape of an input, and the dimension whose size nobody said.
    fn input_shape(info: &ValueInfo<'m>, reading: &Reading<'_>) -> Translated<(Vec<i64>, Option<String>)> {
        let known = reading.options.shapes.iter().find(|(name, _)| name == info.name);
        let known = known.map(|(_, shape)| shape.iter().map(|&extent| i64::from(extent)).collect::<Vec<_>>());
        let Some(declared) = &info.shape else {
            return known.map(|shape| (shape, None)).ok_or_else(|| {
                Refusal::new(Code::Shape, "its shape is not known").help("give its value with `--inputs`")
            });
        };
        if let Some(known) = &known
            && known.len() != declared.len()
        {
            return Err(Refusal::new(
                Code::Shape,
                format!("its value has {} dimensions, the model says {}", known.len(), declared.len()),
            ));
        }
        let mut assumed = None;
        // Exporters write -1 for what is open, and Paddle 0 for the batch.
        let opened = |n: usize, dimension: &Dimension<'m>| match *dimension {
            Dimension::Known(extent) if extent < 0 || extent == 0 && n == 0 && declared.len() > 1 => {
                Dimension::Named("")
            }
            dimension => dimension,
        };
        let extent = |(n, dimension): (usize, &Dimension<'m>)| match &opened(n, dimension) {
            Dimension::Known(extent) => Ok(*extent),
            Dimension::Named(name) => {
                let own = format!("{}.{n}", info.name);
                let set = reading.options.set.iter().rev().find(|(known, _)| known == name || *known == own);
                let set = set.map(|&(_, value)| value as i64);
                // The first dimension is the batch: one at a time, unless somebody says otherwise.
                let single = n == 0 && declared.len() > 1;
                let name = if name.is_empty() { &own } else { *name };
                set.or_else(|| known.as_ref().map(|shape| shape[n]))
                    .or_else(|| {
                        assumed = single.then(|| name.to_owned());
                        single.then_some(1)
                    })
                    .ok_or_else(|| {
                        let message = format!("its dimension `{name}` is not a number");
                        Refusal::new(Code::Shape, message)
                            .help(format!("`--shape {name}=1` gives it one; all sizes are fixed here"))
                    })
            }
        };
        let shape = declared.iter().enumerate().map(extent).collect::<Translated<_>>()?;
        Ok((shape, assumed))
    }

    fn graph_output(&mut self, info: &ValueInfo<'m>) -> Translated<()> {
        let value = match self.find(info.name) {
            Some(Slot::Tensor(value)) => value,
            Some(_) => return unsupported("it is not a tensor", "let the model give its tensors one by one"),
            None => return Err(Refusal::new(Code::Undef, "no node computes it")),
        };
        let id = if matches!(self.builder.program.tensors[value.id.0].role, Role::Temporary | Role::Stored) {
            value.id
        } else {
            self.builder.name = info.name.into();
            let shape = self.builder.shape(value);
            let copy = self.builder.tensor(&shape, value.kind, Role::Temporary)?;
            let index: Vec<Affine> = (0..shape.len()).map(crate::expression::it).collect();
            let body = crate::expression::Ex::Read(value.id, index.clone());
            self.builder.nest(copy, index, &crate::build::Loops::each(&shape), &body)?;
            copy.id
        };
        if info.data_type == TEXT {
            self.tell_texts(info.name);
        }
        self.builder.program.tensors[id.0].role = Role::Output;
        self.builder.program.names.push((info.name.to_owned(), id));
        Ok(())
    }

    /// What a name stands for.
    pub(crate) fn find(&self, name: &str) -> Option<Slot> {
        for frame in self.frames.iter().rev() {
            if let Some(slot) = frame.values.get(name) {
                return Some(slot.clone());
            }
            if !frame.open {
                break;
            }
        }
        None
    }

    fn define(&mut self, name: &str, slot: Slot) {
        if let Some(frame) = self.frames.last_mut() {
            frame.values.insert(name.to_owned(), slot);
        }
    }

    /// The version of a domain.
    pub(crate) fn version(&self, domain: &str) -> i64 {
        let own = functions::domain(domain);
        self.opsets.iter().rev().find(|(name, _)| functions::domain(name) == own).map_or(1, |&(_, version)| version)
    }

    fn node(&mut self, node: &Node<'m>, depth: usize) -> Translated<()> {
        self.nodes += 1;
        let called = self.functions.called(node);
        let size = if called.is_some() { self.functions.size_of(node) } else { 0 };
        if self.nodes.saturating_add(size) > NODES || depth > DEPTH {
            let message =
                format!("with its functions written out the graph has more than {NODES} nodes, or {DEPTH} levels");
            return Err(Refusal::new(Code::Limit, message)
                .help("split the model, or export it without functions that call others many times"));
        }
        let nests = matches!(node.operator, "Sum" | "Mean" | "Max" | "Min" | "Einsum");
        if nests && node.inputs.len() > OPERANDS {
            let message = format!("it has {} operands, more than {OPERANDS}", node.inputs.len());
            return Err(Refusal::new(Code::Limit, message).help("`Concat` and a reduction along the axis take more"));
        }
        let operands = node.inputs.iter().map(|&name| match name {
            "" => Ok(None),
            name => self.find(name).map(Some).ok_or_else(|| {
                Refusal::new(Code::Undef, format!("its operand `{name}` is not defined before it"))
                    .help("the file is damaged, or its nodes are not sorted, or it is a constant of text")
            }),
        });
        let operands: Vec<Option<Slot>> = operands.collect::<Translated<_>>()?;
        let before = self.builder.program.tensors.len();
        let call = Call { node, version: self.version(node.domain), operands };
        let first = node.outputs.iter().find(|name| !name.is_empty());
        self.builder.name = first.map_or_else(|| node.operator.to_owned(), |&name| name.to_owned());
        let results = match called {
            Some(function) => self.function(function, &call, depth)?,
            None => operators::translate(self, &call, depth)?,
        };
        for (&name, mut slot) in node.outputs.iter().zip(results) {
            if let Slot::Tensor(value) = &mut slot {
                *value = self.builder.integer(*value, node.operator, before)?;
            }
            if !name.is_empty() {
                self.define(name, slot);
            }
        }
        Ok(())
    }

    /// An operator that the file defines.
    fn function(&mut self, function: &Function<'m>, call: &Call<'_, 'm>, depth: usize) -> Translated<Vec<Slot>> {
        let mut frame = Frame::default();
        for (name, operand) in function.inputs.iter().zip(&call.operands) {
            if let Some(slot) = operand {
                frame.values.insert((*name).to_owned(), slot.clone());
            }
        }
        for name in function.inputs.iter().skip(call.operands.len()) {
            frame.values.insert((*name).to_owned(), Slot::Nothing);
        }
        self.frames.push(frame);
        let before = self.opsets.len();
        self.opsets.extend(function.opsets.iter().map(|&(domain, version)| (domain.to_owned(), version)));
        let mut result = Ok(());
        for node in &function.nodes {
            result = self.node(&with_attributes(node, call.node, &function.defaults), depth + 1);
            if result.is_err() {
                break;
            }
        }
        let outputs = function.outputs.iter().map(|name| self.find(name).unwrap_or(Slot::Nothing)).collect();
        self.opsets.truncate(before);
        self.frames.pop();
        result.map(|()| outputs)
    }

    /// Refuse a body that runs so often that there would be too many nodes, before any of them is there.
    pub(crate) fn bounded(&self, graph: &Graph<'m>, steps: u64) -> Translated<()> {
        let nodes = self.functions.size(graph).max(1).saturating_mul(steps);
        if self.nodes.saturating_add(nodes) <= NODES {
            return Ok(());
        }
        let message = format!("its body runs {steps} times, and the graph has more than {NODES} nodes then");
        Err(Refusal::new(Code::Limit, message)
            .help("loops are written out; `LSTM`, `GRU` and `RNN` are one node for all steps, and `CumSum` is a sum"))
    }

    /// A body, with values for its inputs.
    pub(crate) fn body(&mut self, graph: &Graph<'m>, inputs: &[Slot], depth: usize) -> Translated<Vec<Slot>> {
        let mut frame = Frame { open: true, ..Frame::default() };
        for (info, slot) in graph.inputs.iter().zip(inputs) {
            frame.values.insert(info.name.to_owned(), slot.clone());
        }
        self.frames.push(frame);
        let result = self.body_nodes(graph, depth);
        self.frames.pop();
        result
    }

    fn body_nodes(&mut self, graph: &Graph<'m>, depth: usize) -> Translated<Vec<Slot>> {
        for data in &graph.initialisers {
            self.initialiser(data, false)?;
        }
        for node in &graph.nodes {
            self.node(node, depth + 1)?;
        }
        let undefined = |name: &str| Refusal::new(Code::Undef, format!("its body does not compute `{name}`"));
        graph.outputs.iter().map(|info| self.find(info.name).ok_or_else(|| undefined(info.name))).collect()
    }

    /// Constants of an attribute.
    pub(crate) fn attribute_constants(&mut self, attribute: &Attribute<'_>) -> Translated<Val> {
        let most = self.builder.most();
        let constants = match (&attribute.tensor, &attribute.sparse) {
            (Some(data), _) => elements::constants(data, most, self.beside),
            (None, Some(data)) => elements::dense(data, most, self.beside),
            _ => Err("it has no value".into()),
        };
        self.builder.read_constants(constants.map_err(|why| Refusal::new(Code::Data, why))?)
    }

    /// The number that a text has here: texts are counted in the order in which they are met.
    pub(crate) fn number_of_text(&mut self, text: &[u8]) -> f64 {
        let known = self.texts.iter().position(|known| known == text);
        let number = known.unwrap_or_else(|| {
            self.texts.push(text.to_vec());
            self.texts.len() - 1
        });
        number as f64
    }

    /// Say that a result which the file has as text is a number here.
    fn tell_texts(&mut self, name: &str) {
        let shown = self.texts.iter().take(SHOWN).enumerate();
        let mut shown: Vec<String> =
            shown.map(|(n, text)| format!("{n} is {:?}", String::from_utf8_lossy(text))).collect();
        if self.texts.len() > SHOWN {
            shown.push("...".into());
        }
        let message =
            format!("output `{name}` is text in the file and the number of the text here: {}", shown.join(", "));
        self.warnings.push(
            Diagnostic::new(Code::WarnNumber, self.builder.span, message)
                .with_label("here")
                .with_help("look the texts up on the host, or train the model with numbers for labels"),
        );
    }

    /// Whole numbers that have to be known when the file is read.
    pub(crate) fn static_ints(&self, value: Val, what: &str) -> Translated<Vec<i64>> {
        Ok(self.static_numbers(value, what)?.into_iter().map(|value| value as i64).collect())
    }

    /// The first of such numbers.
    pub(crate) fn static_number(&self, value: Val, what: &str) -> Translated<f64> {
        let numbers = self.static_numbers(value, what)?;
        numbers.first().copied().ok_or_else(|| Refusal::new(Code::Shape, format!("its {what} has no value")))
    }

    /// Numbers that have to be known when the file is read.
    pub(crate) fn static_numbers(&self, value: Val, what: &str) -> Translated<Vec<f64>> {
        let name = &self.builder.program.tensors[value.id.0].name;
        self.builder.known(value).map(<[f64]>::to_vec).ok_or_else(|| {
            Refusal::new(Code::Unsupported, format!("its {what}, `{name}`, depends on values that are not known yet"))
                .help("make it a constant of the model; if it is an input, give its value with `--inputs`")
        })
    }
}

/// Name of the operator with a foreign domain.
fn operator_name(node: &Node<'_>) -> String {
    if node.domain.is_empty() { node.operator.to_owned() } else { format!("{}.{}", node.domain, node.operator) }
}

/// A node of a function with the attributes of the call.
fn with_attributes<'m>(node: &Node<'m>, call: &Node<'m>, defaults: &[Attribute<'m>]) -> Node<'m> {
    let attributes = node.attributes.iter().filter_map(|attribute| {
        if attribute.reference.is_empty() {
            return Some(attribute.clone());
        }
        let given = call.attribute(attribute.reference);
        let found = given.or_else(|| defaults.iter().find(|default| default.name == attribute.reference))?;
        Some(Attribute { name: attribute.name, reference: "", ..found.clone() })
    });
    Node { attributes: attributes.collect(), ..node.clone() }
}

fn diagnostic(refusal: Refusal, span: Span, what: &str) -> Diagnostic {
    let Refusal { code, message, help } = refusal;
    let diagnostic = Diagnostic::new(code, span, format!("{what}: {message}")).with_label("here");
    match help {
        Some(help) => diagnostic.with_help(help),
        None => diagnostic,
    }
}

/// Remove Nests that no result needs; which tensors are needed then.
fn without_unused_nests(program: &mut Program) -> Vec<bool> {
    let mut needed = vec![false; program.tensors.len()];
    program.names.iter().for_each(|(_, id)| needed[id.0] = true);
    for nest in program.nests.iter().rev() {
        if needed[nest.out.0] {
            reads(nest).for_each(|tensor| needed[tensor.0] = true);
        }
    }
    program.nests.retain(|nest| needed[nest.out.0]);
    needed
}

/// Remove tensors and Nests that no result needs.
fn without_unused(program: &mut Program) {
    use compiler::tensor::{Node as Inner, Start};
    let mut needed = without_unused_nests(program);
    for (needed, tensor) in needed.iter_mut().zip(&program.tensors) {
        *needed |= matches!(tensor.role, Role::Input | Role::State);
    }
    let mut number = 0;
    let moved: Vec<TensorId> = needed
        .iter()
        .map(|&needed| {
            let id = TensorId(number);
            number += usize::from(needed);
            id
        })
        .collect();
    let mut at = 0;
    program.tensors.retain(|_| {
        at += 1;
        needed[at - 1]
    });
    for nest in &mut program.nests {
        nest.out = moved[nest.out.0];
        for node in &mut nest.body.nodes {
            if let Inner::Read { tensor, .. } | Inner::Gather { tensor, .. } = node {
                *tensor = moved[tensor.0];
            }
        }
        if let Start::Element { tensor, .. } = &mut nest.start {
            *tensor = moved[tensor.0];
        }
    }
    program.names.iter_mut().for_each(|(_, id)| *id = moved[id.0]);
}
