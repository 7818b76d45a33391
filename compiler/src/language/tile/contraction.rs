//! Contractions: `O[oi] += A[ai] * B[bi]` over all valid index sets.
//!
//! ```text
//! O[i] += I[(i - 1) // 2]      valid where every index is an integer inside its tensor
//!   =>  fill O[i] = 0;  O[i] += I[q]  if i - 1 - 2q == 0     over q in 0..3
//! O[2*n + k] += I[n]           an output index that is no plain variable gets one of its own
//!   =>  O[o] += I[n]  if 2n + k - o == 0                      over n, k
//! ```

use super::ast::{Expression, Form as Syntax, Name, Operator, Statement};
use super::indices::{Indices, Ratio};
use super::lower::{Lowering, Numbered};
use super::scope::Entry;
use super::space::{self, Form, Space};
use crate::tensor::{Affine, Aggregate, Binary, Body, Guard, IterId, Iterator, Nest, Node, NodeId, Start, TensorId};
use arch::{Code, Diagnostic, Span};

/// How the operands are combined.
#[derive(Clone, Copy)]
enum Combination {
    One,
    Two(Binary),
    /// `cond(a, b, c)`: c where a == b, otherwise 0.
    Cond,
}

/// How values of one element are combined.
#[derive(Clone, Copy, PartialEq)]
enum Aggregation {
    /// `=`: there is only one.
    Once,
    Of(Aggregate),
}

/// The value of elements without a valid index set.
#[derive(Clone, Copy)]
enum Unwritten {
    Zero,
    Default(TensorId),
}

/// A tensor and its indices over the variables.
type Access = (TensorId, Vec<Form>);

/// Index variables in the order of loops: those of the result, then the others.
struct Order(Vec<usize>);

impl Order {
    fn of(free: &[usize], variables: usize) -> Order {
        Order(free.iter().copied().chain((0..variables).filter(|variable| !free.contains(variable))).collect())
    }

    fn affine(&self, form: &Form) -> Affine {
        let position = |variable: usize| IterId(self.0.iter().position(|&known| known == variable).unwrap_or(0));
        let mut terms: Vec<(IterId, i64)> =
            form.terms.iter().map(|(&variable, &c)| (position(variable), c as i64)).collect();
        terms.sort_unstable();
        Affine { offset: form.offset as i64, terms }
    }

    fn iterators(&self, indices: &Indices<'_>, ranges: &[(i128, i128)]) -> Vec<Iterator> {
        let iterator = |&variable: &usize| {
            let (low, high) = ranges[variable];
            Iterator { name: indices.names[variable].clone(), low: low as i64, high: high as i64 + 1 }
        };
        self.0.iter().map(iterator).collect()
    }

    /// The conditions that do not hold everywhere.
    fn guards(&self, indices: &Indices<'_>, ranges: &[(i128, i128)]) -> Vec<Guard> {
        let mut guards = Vec::new();
        for (form, bound) in &indices.conditions {
            let (low, high) = form.extremes(ranges);
            if low >= 0 && high < *bound {
                continue;
            }
            let value = self.affine(form);
            let guard = match *bound {
                1 => Guard::Zero { value },
                bound => Guard::Within { value, bound: bound.min(1 << 60) as i64 },
            };
            if !guards.contains(&guard) {
                guards.push(guard);
            }
        }
        guards
    }
}

impl<'s> Lowering<'s, '_> {
    /// `target[index] operator value`, with the constraints among the `later` statements.
    pub(super) fn contract(
        &mut self,
        (target, index, operator): (Name<'s>, &[Expression<'s>], &str),
        value: &Expression<'s>,
        span: Span,
        later: &[Numbered<'_, 's>],
    ) -> Option<()> {
        let aggregation = self.aggregation(operator, target.span)?;
        let shape = self.declared(target)?;
        // Whatever goes wrong now, the target counts as written.
        self.set(target.text, Entry::Broken);
        if index.len() != shape.len() {
            self.rank_error(target, shape.len(), index.len());
            return None;
        }
        let mut indices = Indices::default();
        let out = self.ratios(index, &mut indices)?;
        let (combination, operands) = self.operands(value)?;
        let mut accesses = Vec::new();
        for (tensor, index) in operands {
            accesses.push(self.operand(tensor, index, &mut indices));
        }
        let accesses: Vec<(TensorId, Vec<Ratio>)> = accesses.into_iter().collect::<Option<_>>()?;
        let named = indices.names.len();

        // Free iterators: plain output indices themselves, others get an iterator and an equation.
        let mut free = Vec::new();
        for (dimension, (index, &extent)) in out.into_iter().zip(&shape).enumerate() {
            let plain = match index.form.terms.iter().next() {
                Some((&variable, 1)) if index.form == Form::variable(variable) && index.divisor == 1 => Some(variable),
                _ => None,
            };
            let variable = plain.filter(|variable| !free.contains(variable));
            let variable = variable.unwrap_or_else(|| {
                let own = indices.fresh(format!("o{dimension}"));
                let equation = index.form.combined(1, -index.divisor, &Form::variable(own));
                indices.conditions.push((equation, 1));
                own
            });
            indices.conditions.push((Form::variable(variable), i128::from(extent)));
            free.push(variable);
        }
        let reads: Vec<Access> = accesses
            .into_iter()
            .map(|(tensor, index)| {
                let shape = self.shape(tensor);
                (tensor, index.into_iter().zip(shape).map(|(index, extent)| indices.inside(index, extent)).collect())
            })
            .collect();
        let unwritten = self.constraints(target, later, &shape, &mut indices, named)?;
        let body = body(combination, reads.len());
        self.nests(target, aggregation, (&free, &reads, body), &indices, unwritten, &shape, span)
    }

    /// The shape of a tensor that has no value yet.
    fn declared(&mut self, target: Name<'s>) -> Option<Vec<u32>> {
        match self.lookup(target)? {
            Entry::Declared { shape } => Some(shape),
            Entry::Broken => None,
            Entry::Input(_) => {
                self.report(
                    Diagnostic::new(
                        Code::Immut,
                        target.span,
                        format!("the input `{}` cannot be assigned", target.text),
                    )
                    .with_label("input")
                    .with_help("declare an output: `O = TensorOutput(...)`"),
                );
                None
            }
            Entry::Contracted(_) | Entry::Value(_) => {
                self.report(
                    Diagnostic::new(Code::Redef, target.span, format!("`{}` has its value already", target.text))
                        .with_label("second contraction"),
                );
                None
            }
            _ => {
                self.report(
                    Diagnostic::new(Code::Kind, target.span, format!("`{}` is not a tensor", target.text))
                        .with_label("target"),
                );
                None
            }
        }
    }

    fn aggregation(&mut self, operator: &str, place: Span) -> Option<Aggregation> {
        Some(match operator {
            "=" => Aggregation::Once,
            "+=" => Aggregation::Of(Aggregate::Add),
            "*=" => Aggregation::Of(Aggregate::Mul),
            ">=" => Aggregation::Of(Aggregate::Max),
            "<=" => Aggregation::Of(Aggregate::Min),
            other => {
                self.report(
                    Diagnostic::new(Code::Contract, place, format!("`{other}` is not an aggregation")).with_label("contraction").with_help(
                        "the aggregations are `+=` sum, `*=` product, `>=` maximum, `<=` minimum and `=` assignment",
                    ),
                );
                return None;
            }
        })
    }

    /// The accesses on the right side and how they are combined.
    #[allow(clippy::type_complexity, reason = "a list of accesses, named once")]
    fn operands<'e>(
        &mut self,
        value: &'e Expression<'s>,
    ) -> Option<(Combination, Vec<(Name<'s>, &'e [Expression<'s>])>)> {
        let access = |expression: &'e Expression<'s>| match &expression.form {
            Syntax::Access { tensor, index } => Some((*tensor, index.as_slice())),
            _ => None,
        };
        let found = match &value.form {
            Syntax::Access { .. } => access(value).map(|one| (Combination::One, vec![one])),
            Syntax::Chain { first, rest } if rest.len() == 1 => {
                let operator = match rest[0].0 {
                    Operator::Add => Some(Binary::Add),
                    Operator::Mul => Some(Binary::Mul),
                    Operator::Eq => Some(Binary::Eq),
                    _ => None,
                };
                operator
                    .zip(access(first))
                    .zip(access(&rest[0].1))
                    .map(|((operator, a), b)| (Combination::Two(operator), vec![a, b]))
            }
            Syntax::Call { function, arguments } if function.text == "cond" && arguments.len() == 3 => {
                arguments.iter().map(access).collect::<Option<Vec<_>>>().map(|all| (Combination::Cond, all))
            }
            _ => None,
        };
        if found.is_none() {
            self.report(
                Diagnostic::new(
                    Code::Contract,
                    value.span,
                    "a contraction combines accesses by `*`, `+`, `==` or `cond(a, b, c)`",
                )
                .with_label("something else")
                .with_help("element-wise work needs its own line"),
            );
        }
        found
    }

    fn operand(
        &mut self,
        name: Name<'s>,
        index: &[Expression<'s>],
        indices: &mut Indices<'s>,
    ) -> Option<(TensorId, Vec<Ratio>)> {
        let tensor = self.read(name)?;
        let rank = self.shape(tensor).len();
        let index = self.ratios(index, indices);
        if let Some(index) = &index
            && index.len() != rank
        {
            self.rank_error(name, rank, index.len());
            return None;
        }
        Some((tensor, index?))
    }

    fn rank_error(&mut self, name: Name<'s>, rank: usize, given: usize) {
        let plural = if rank == 1 { "" } else { "s" };
        self.report(
            Diagnostic::new(Code::Rank, name.span, format!("`{}` has {rank} dimension{plural}", name.text))
                .with_label(format!("{given} given")),
        );
    }

    /// Constraints and the default of a contraction stand after it.
    fn constraints(
        &mut self,
        target: Name<'s>,
        later: &[Numbered<'_, 's>],
        shape: &[u32],
        indices: &mut Indices<'s>,
        named: usize,
    ) -> Option<Unwritten> {
        let mut unwritten = Unwritten::Zero;
        for (_, statement) in later {
            match statement {
                Statement::Assign { targets, .. } if targets.iter().any(|name| name.text == target.text) => break,
                Statement::Method { object, method, arguments } if object.text == target.text => match method.text {
                    "add_constraint" | "add_constraints" => {
                        let all: Vec<&Expression> = arguments
                            .iter()
                            .flat_map(|argument| match &argument.form {
                                Syntax::List(items) => items.iter().collect(),
                                _ => vec![argument],
                            })
                            .collect();
                        for constraint in all {
                            self.constraint(constraint, indices, named)?;
                        }
                    }
                    "use_default" => unwritten = Unwritten::Default(self.default_tensor(*method, arguments, shape)?),
                    _ => {}
                },
                _ => {}
            }
        }
        Some(unwritten)
    }

    fn default_tensor(&mut self, method: Name<'s>, arguments: &[Expression<'s>], shape: &[u32]) -> Option<TensorId> {
        let [Expression { form: Syntax::Name(name), .. }] = arguments else {
            self.report(Diagnostic::new(Code::Arity, method.span, "`use_default` takes one tensor").with_label("here"));
            return None;
        };
        let tensor = self.read(*name)?;
        if self.shape(tensor) != shape {
            let message = format!("`{}` has shape {:?}, the output {shape:?}", name.text, self.shape(tensor));
            self.report(Diagnostic::new(Code::Shape, name.span, message).with_label("shapes differ"));
            return None;
        }
        Some(tensor)
    }

    fn constraint(&mut self, constraint: &Expression<'s>, indices: &mut Indices<'s>, named: usize) -> Option<()> {
        let fault = |message: &str, span: Span| {
            Diagnostic::new(Code::Contract, span, message)
                .with_label("constraint")
                .with_help("a constraint is `index < size`; collect all indices on the left")
        };
        let Syntax::Chain { first, rest } = &constraint.form else {
            self.report(fault("this is not a constraint", constraint.span));
            return None;
        };
        let [(Operator::Lt, bound)] = rest.as_slice() else {
            self.report(fault("a constraint has one `<`", constraint.span));
            return None;
        };
        let mut trial = Indices { names: indices.names.clone(), known: indices.known.clone(), conditions: Vec::new() };
        let left = self.ratio(first, &mut trial)?;
        if let Some(&(name, _)) = trial.known.get(indices.known.len()) {
            let message = format!("the index variable `{name}` occurs in no access");
            self.report(Diagnostic::new(Code::FreeIndex, first.span, message).with_label("only constrained"));
            return None;
        }
        if !self.is_size(bound) {
            self.report(fault("the right side of a constraint has no index variable", constraint.span));
            return None;
        }
        let bound = i128::from(self.size(bound)?);
        debug_assert!(left.form.terms.keys().all(|&variable| variable < named), "only named variables occur");
        indices.conditions.push((left.form, bound * left.divisor));
        Some(())
    }

    /// The tensor of the result: filled where nothing may be written, then contracted.
    #[allow(clippy::too_many_arguments, reason = "one caller, one step of it")]
    fn nests(
        &mut self,
        target: Name<'s>,
        aggregation: Aggregation,
        (free, reads, body): (&[usize], &[Access], Vec<Node>),
        indices: &Indices<'s>,
        unwritten: Unwritten,
        shape: &[u32],
        span: Span,
    ) -> Option<()> {
        let ranges = self.ranges(target, indices, unwritten, span)?;
        let out = self.tensor(target.text, shape.to_vec(), target.span)?;
        self.set(target.text, Entry::Contracted(out));
        let order = Order::of(free, indices.names.len());
        let Space::Box(ranges) = ranges else {
            self.fill(out, unwritten, shape, span);
            return Some(());
        };
        let iterators = order.iterators(indices, &ranges);
        let guards = order.guards(indices, &ranges);
        self.loops_are_few(&iterators, span)?;
        let reduces = iterators.len() > free.len();
        if aggregation == Aggregation::Once && reduces {
            self.assigned_once(&iterators, &guards, free.len(), target, span)?;
        }
        let whole = guards.is_empty()
            && free.iter().zip(shape).all(|(&variable, &extent)| ranges[variable] == (0, i128::from(extent) - 1));
        if !whole {
            self.fill(out, unwritten, shape, span);
        }
        let reads: Vec<Node> = reads
            .iter()
            .map(|(tensor, index)| Node::Read {
                tensor: *tensor,
                index: index.iter().map(|form| order.affine(form)).collect(),
            })
            .collect();
        let body = Body { nodes: [reads, body].concat() };
        // An assignment whose elements are written once is a sum of one term.
        let aggregate = match aggregation {
            _ if !reduces => Aggregate::Assign,
            Aggregation::Once => Aggregate::Add,
            Aggregation::Of(aggregate) => aggregate,
        };
        let out_index = (0..free.len()).map(|n| Affine::iterator(IterId(n))).collect();
        self.push(Nest {
            iterators,
            free: free.len(),
            guards,
            out,
            out_index,
            aggregate,
            start: Start::Identity,
            body,
            origin: span.into(),
        });
        Some(())
    }

    /// The values that each index variable can have; nothing, and a message, where they are infinitely many.
    fn ranges(&mut self, target: Name<'s>, indices: &Indices<'s>, unwritten: Unwritten, span: Span) -> Option<Space> {
        match space::bound(indices.names.len(), &indices.conditions) {
            Space::Box(ranges) => Some(Space::Box(ranges)),
            Space::Empty => {
                let value = if matches!(unwritten, Unwritten::Default(_)) { "default" } else { "0" };
                let message = format!("no index set of this contraction is valid, `{}` is all {value}", target.text);
                self.report(Diagnostic::new(Code::WarnEmpty, span, message).with_label("no contribution"));
                Some(Space::Empty)
            }
            Space::Unbounded(variable) => {
                let name = &indices.names[variable];
                let message = format!("the index variable `{name}` has infinitely many valid values");
                let help = format!("bound it: `{}.add_constraint({name} < ...)`", target.text);
                let found = Diagnostic::new(Code::Unbounded, target.span, message);
                self.report(found.with_label("contraction").with_help(help));
                None
            }
        }
    }

    fn loops_are_few(&mut self, iterators: &[Iterator], span: Span) -> Option<()> {
        let most = self.limits().points;
        let points = iterators.iter().fold(1u64, |product, iterator| product.saturating_mul(iterator.extent()));
        if points > most {
            let message = format!("this loops over more than {most} points");
            self.report(Diagnostic::new(Code::Limit, span, message).with_label("too much work"));
            return None;
        }
        Some(())
    }

    /// 0 or the default everywhere.
    fn fill(&mut self, out: TensorId, unwritten: Unwritten, shape: &[u32], span: Span) {
        let iterators: Vec<Iterator> = shape
            .iter()
            .enumerate()
            .map(|(n, &extent)| Iterator { name: format!("d{n}"), low: 0, high: i64::from(extent) })
            .collect();
        let index: Vec<Affine> = (0..shape.len()).map(|n| Affine::iterator(IterId(n))).collect();
        let node = match unwritten {
            Unwritten::Default(tensor) => Node::Read { tensor, index: index.clone() },
            Unwritten::Zero => Node::Constant(0.0),
        };
        let (guards, start, aggregate) = (Vec::new(), Start::Identity, Aggregate::Assign);
        let body = Body { nodes: vec![node] };
        self.push(Nest {
            free: iterators.len(),
            iterators,
            guards,
            out,
            out_index: index,
            aggregate,
            start,
            body,
            origin: span.into(),
        });
    }

    /// No element is written by two valid index sets: counted, sizes being known.
    fn assigned_once(
        &mut self,
        iterators: &[Iterator],
        guards: &[Guard],
        free: usize,
        target: Name<'s>,
        span: Span,
    ) -> Option<()> {
        let points = iterators.iter().fold(1u64, |product, iterator| product.saturating_mul(iterator.extent()));
        if points > self.limits().elements {
            self.report(
                Diagnostic::new(Code::Limit, span, "too many index sets to see whether each element is assigned once")
                    .with_label(format!("{points} index sets"))
                    .with_help("use `+=`, `>=` or `<=` instead of `=`"),
            );
            return None;
        }
        let mut point: Vec<i64> = iterators.iter().map(|iterator| iterator.low).collect();
        let mut written = 0;
        loop {
            let exists = guards.iter().all(|guard| match guard {
                Guard::Within { value, bound } => (0..*bound).contains(&value.at(&point)),
                Guard::Zero { value } => value.at(&point) == 0,
            });
            written += usize::from(exists);
            if written > 1 {
                let element: String =
                    point[..free].iter().fold(String::new(), |text, index| text + &format!("[{index}]"));
                self.report(
                    Diagnostic::new(
                        Code::MultiAssign,
                        target.span,
                        format!("`{}{element}` is assigned more than once", target.text),
                    )
                    .with_label("by several index sets")
                    .with_help("say how values are combined: `+=`, `*=`, `>=` or `<=`"),
                );
                return None;
            }
            let Some(next) = (0..point.len()).rev().find(|&n| point[n] + 1 < iterators[n].high) else {
                return Some(());
            };
            point[next] += 1;
            for (later, iterator) in point.iter_mut().zip(iterators).skip(next + 1) {
                *later = iterator.low;
            }
            if next < free {
                written = 0;
            }
        }
    }
}

/// The nodes after the reads.
fn body(combination: Combination, reads: usize) -> Vec<Node> {
    match combination {
        Combination::One => Vec::new(),
        Combination::Two(operator) => vec![Node::Binary(operator, NodeId(0), NodeId(1))],
        Combination::Cond => vec![
            Node::Binary(Binary::Eq, NodeId(0), NodeId(1)),
            Node::Constant(0.0),
            Node::Select { condition: NodeId(reads), yes: NodeId(2), no: NodeId(reads + 1) },
        ],
    }
}
