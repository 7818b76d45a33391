//! Support vector machines.
//!
//! ```text
//! k[v] = kernel(x, support vector v)      s[pair] = sum[v](weight[pair][v] * k[v]) + rho[pair]      votes, or probabilities, of s
//! ```

use super::classes::{Classes, results, transformed, two_columns};
use super::ensemble::table;
use crate::build::{Refusal, Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{Ex, call, call2, fixed, num, select};
use crate::graph::Lowering;
use arch::Code;
use compiler::tensor::{Aggregate, Function};

/// Steps towards probabilities of more than two classes that agree with those of the pairs. Later ones change less than what ends them.
const STEPS: usize = 16;

fn numbers(c: &Call<'_, '_>, name: &str) -> Vec<f64> {
    c.floats(name).unwrap_or_default()
}

/// Kernels of rows and vectors, `[rows][vectors]`; `vectors` is `[vectors][features]`.
fn kernels(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, x: Val, vectors: Val, kind: &str) -> Translated<Val> {
    let parameters = numbers(c, "kernel_params");
    let parameter = |n: usize| parameters.get(n).copied().unwrap_or(0.0);
    let (gamma, zero, degree) = (parameter(0), parameter(1), parameter(2));
    let ([rows, features], [count, width]) = (&l.builder.shape(x)[..], &l.builder.shape(vectors)[..]) else {
        return misfit("its operand is not a table");
    };
    if features != width {
        return misfit(format!("its support vectors have {width} features, and its rows {features}"));
    }
    let (shape, over) = ([*rows, *count], [*features]);
    let squares = kind == "RBF";
    let sums = l.builder.reduce(&shape, &over, Kind::FLOAT, Aggregate::Add, |_, at, k| {
        let own = Ex::Read(x.id, vec![at[0].clone(), k[0].clone()]);
        let other = Ex::Read(vectors.id, vec![at[1].clone(), k[0].clone()]);
        if squares { (own - other).squared() } else { own * other }
    })?;
    match kind {
        "LINEAR" => Ok(sums),
        "RBF" => l.builder.apply(sums, |x| call(Function::Exp, x * -gamma)),
        "SIGMOID" => l.builder.apply(sums, |x| call(Function::Tanh, x * gamma + zero)),
        "POLY" => {
            let base = l.builder.apply(sums, |x| x * gamma + zero)?;
            l.builder.apply(base, |x| power(&x, degree))
        }
        _ => c.refuse("kernel_type"),
    }
}

/// A power, by products where the exponent is a small whole number.
fn power(x: &Ex, exponent: f64) -> Ex {
    if exponent.fract() == 0.0 && (1.0..=8.0).contains(&exponent) {
        return (1..exponent as usize).fold(x.clone(), |product, _| product * x.clone());
    }
    call2(Function::Pow, x.clone(), num(exponent))
}

/// Rows of weights of kernels, plus a number for each: `[rows][results]`.
fn weighted(l: &mut Lowering<'_, '_>, kernels: Val, weights: Vec<f64>, rho: &[f64]) -> Translated<Val> {
    let [rows, count] = l.builder.shape(kernels)[..] else { return misfit("its operand is not a table") };
    let results = rho.len() as i64;
    let weights = l.builder.constants(&[results, count], Kind::FLOAT, weights)?;
    let sums = l.builder.reduce(&[rows, results], &[count], Kind::FLOAT, Aggregate::Add, |_, at, v| {
        Ex::Read(kernels.id, vec![at[0].clone(), v[0].clone()])
            * Ex::Read(weights.id, vec![at[1].clone(), v[0].clone()])
    })?;
    if rho.iter().all(|&value| value == 0.0) {
        return Ok(sums);
    }
    let rho = l.builder.constants(&[results], Kind::FLOAT, rho.to_vec())?;
    l.builder.zip(&[sums, rho], Kind::FLOAT, |x| x[0].clone() + x[1].clone())
}

/// The support vectors as a table of so many rows.
fn vectors(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, count: usize) -> Translated<Val> {
    let values = numbers(c, "support_vectors");
    if count == 0 || !values.len().is_multiple_of(count) {
        return Err(Refusal::new(Code::Data, format!("{} numbers are not {count} support vectors", values.len()))
            .help("export the model again"));
    }
    let shape = [count as i64, (values.len() / count) as i64];
    l.builder.constants(&shape, Kind::FLOAT, values)
}

/// A sum over support vectors, or its sign.
pub(super) fn regressed(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = table(l, c)?;
    let count = usize::try_from(c.int("n_supports", 0)).unwrap_or(0);
    let coefficients = numbers(c, "coefficients");
    let rho = numbers(c, "rho").first().copied().unwrap_or(0.0);
    let value = if count > 0 {
        if coefficients.len() != count {
            return misfit(format!("{} coefficients for {count} support vectors", coefficients.len()));
        }
        let vectors = vectors(l, c, count)?;
        let kernels = kernels(l, c, x, vectors, &c.text("kernel_type", "LINEAR"))?;
        weighted(l, kernels, coefficients, &[rho])?
    } else {
        weighted(l, x, coefficients, &[rho])?
    };
    if c.int("one_class", 0) != 0 {
        return l.builder.apply(value, |x| select(x.gt(0.0), num(1.0), num(-1.0)));
    }
    transformed(l, c, &c.text("post_transform", "NONE"), value)
}

/// Labels, and scores of pairs of classes or probabilities of classes.
pub(super) fn classified(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let x = table(l, c)?;
    let classes = Classes::named(l, c)?;
    let count = classes.labels.len();
    let (coefficients, rho) = (numbers(c, "coefficients"), numbers(c, "rho"));
    let per_class: Vec<usize> =
        c.ints("vectors_per_class").unwrap_or_default().iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
    let total: usize = per_class.iter().sum();
    let post = c.text("post_transform", "NONE");
    if total == 0 {
        let rho = vec![rho.first().copied().unwrap_or(0.0); count];
        let scores = weighted(l, x, coefficients, &rho)?;
        let mut label = classes.best(l, scores)?;
        if count == 2 {
            // onnxruntime takes the second class, too, where any score is positive, or from a half on if no coefficient is negative.
            let all = numbers(c, "coefficients").iter().all(|&value| value >= 0.0);
            let most = l.along_kept(scores, &[1], Aggregate::Max, |x| x)?;
            let second = classes.second(l, most, |x| if all { x.ge(0.5) } else { x.gt(0.0) })?;
            let known = classes.labels[1] as f64;
            label = l
                .builder
                .zip(&[second, label], Kind::INT64, |x| select(x[0].clone().equals(known), num(known), x[1].clone()))?;
        }
        let scores = transformed(l, c, &post, scores)?;
        return Ok(results(label, scores));
    }
    let pairs: Vec<(usize, usize)> = (0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j))).collect();
    if per_class.len() != count || rho.len() != pairs.len() || coefficients.len() != total * (count - 1) {
        let message = format!("{count} classes with {} coefficients and {} offsets", coefficients.len(), rho.len());
        return misfit(message);
    }
    let vectors = vectors(l, c, total)?;
    let kernels = kernels(l, c, x, vectors, &c.text("kernel_type", "LINEAR"))?;
    let starts: Vec<usize> = (0..count).map(|class| per_class[..class].iter().sum()).collect();
    let mut weights = vec![0.0; pairs.len() * total];
    for (row, &(i, j)) in weights.chunks_exact_mut(total).zip(&pairs) {
        for (class, other) in [(i, j - 1), (j, i)] {
            let own = starts[class]..starts[class] + per_class[class];
            row[own.clone()].copy_from_slice(&coefficients[other * total..][own]);
        }
    }
    let scores = weighted(l, kernels, weights, &rho)?;
    let label = voted(l, &classes, scores, &pairs)?;
    let (a, b) = (numbers(c, "prob_a"), numbers(c, "prob_b"));
    let scores = if a.len() == pairs.len() && b.len() == pairs.len() {
        let probabilities = probabilities(l, scores, &pairs, count, [a, b])?;
        transformed(l, c, &post, probabilities)?
    } else if count > 2 {
        transformed(l, c, &post, scores)?
    } else {
        // One score for two classes.
        let other = |x: Ex| if matches!(post.as_str(), "NONE" | "LOGISTIC") { -x } else { num(1.0) - x };
        let both = two_columns(l, scores, |x| [other(x.clone()), x])?;
        if post == "LOGISTIC" { transformed(l, c, &post, both)? } else { both }
    };
    Ok(results(label, scores))
}

/// The class that wins most pairs.
fn voted(l: &mut Lowering<'_, '_>, classes: &Classes, scores: Val, pairs: &[(usize, usize)]) -> Translated<Val> {
    let (rows, count) = (l.builder.shape(scores)[0], classes.labels.len());
    l.builder.store(scores);
    // A pair votes for its first class with 1, or for its second, which has that vote from the start, by taking it away.
    let (mut signs, mut votes) = (vec![0.0; pairs.len() * count], vec![0.0; count]);
    for (n, &(i, j)) in pairs.iter().enumerate() {
        (signs[n * count + i], signs[n * count + j]) = (1.0, -1.0);
        votes[j] += 1.0;
    }
    let b = &mut l.builder;
    let wins = b.apply(scores, |x| x.gt(0.0))?;
    let signs = b.constants(&[pairs.len() as i64, count as i64], Kind::FLOAT, signs)?;
    let votes = b.constants(&[count as i64], Kind::FLOAT, votes)?;
    let won = b.reduce(&[rows, count as i64], &[pairs.len() as i64], Kind::FLOAT, Aggregate::Add, |_, at, pair| {
        Ex::Read(wins.id, vec![at[0].clone(), pair[0].clone()])
            * Ex::Read(signs.id, vec![pair[0].clone(), at[1].clone()])
    })?;
    let votes = b.zip(&[won, votes], Kind::FLOAT, |x| x[0].clone() + x[1].clone())?;
    classes.best(l, votes)
}

/// Probabilities of classes from the scores of pairs: of each pair first, then those that agree best with them (Wu, Lin and Weng).
fn probabilities(
    l: &mut Lowering<'_, '_>,
    scores: Val,
    pairs: &[(usize, usize)],
    count: usize,
    [a, b]: [Vec<f64>; 2],
) -> Translated<Val> {
    let own = [pairs.len() as i64];
    let (a, b) = (l.builder.constants(&own, Kind::FLOAT, a)?, l.builder.constants(&own, Kind::FLOAT, b)?);
    let of_pairs = l.builder.zip(&[scores, a, b], Kind::FLOAT, |x| {
        let first = call(Function::Sigmoid, -(x[0].clone() * x[1].clone() + x[2].clone()));
        first.max(1e-7).min(1.0 - 1e-7)
    })?;
    let (rows, classes) = (l.builder.shape(of_pairs)[0], count as i64);
    // r[i][j]: how likely class i is beside class j.
    let pair = |i: usize, j: usize| pairs.iter().position(|&known| known == (i, j)).unwrap_or(0) as i64;
    let r = l.builder.begin(&[rows, classes, classes], Kind::FLOAT)?;
    let loops = crate::build::Loops::each(&[rows]);
    let row = || crate::expression::it(0);
    for i in 0..count {
        for j in 0..count {
            let read = |i, j| Ex::Read(of_pairs.id, vec![row(), fixed(pair(i, j))]);
            let value = match i.cmp(&j) {
                std::cmp::Ordering::Less => read(i, j),
                std::cmp::Ordering::Equal => num(0.0),
                std::cmp::Ordering::Greater => num(1.0) - read(j, i),
            };
            l.builder.nest(r.0, vec![row(), fixed(i as i64), fixed(j as i64)], &loops, &value)?;
        }
    }
    let r = l.builder.finish(r);
    agreed(l, r, rows, classes)
}

/// Probabilities `p` with the least `sum[i, j]((r[j][i] * p[i] - r[i][j] * p[j])^2)`, as far as libsvm and onnxruntime go.
fn agreed(l: &mut Lowering<'_, '_>, r: Val, rows: i64, classes: i64) -> Translated<Val> {
    let b = &mut l.builder;
    let (limit, shape) = (0.005 / classes as f64, [rows, classes]);
    let squares = b.reduce(&shape, &[classes], Kind::FLOAT, Aggregate::Add, |_, at, j| {
        Ex::Read(r.id, vec![at[0].clone(), j[0].clone(), at[1].clone()]).squared()
    })?;
    let q = b.map(&[rows, classes, classes], Kind::FLOAT, |_, at| {
        let of = |i: usize, j: usize| Ex::Read(r.id, vec![at[0].clone(), at[i].clone(), at[j].clone()]);
        let on = Ex::At(at[1].clone()).equals(Ex::At(at[2].clone()));
        select(on, Ex::Read(squares.id, vec![at[0].clone(), at[1].clone()]), -(of(2, 1) * of(1, 2)))
    })?;
    let start = b.constants(&[1, 1], Kind::FLOAT, vec![1.0 / classes as f64])?;
    let mut p = b.expand(start, &shape)?;
    let mut goes_on = None;
    for _ in 0..STEPS {
        let mut qp = b.reduce(&shape, &[classes], Kind::FLOAT, Aggregate::Add, |_, at, j| {
            Ex::Read(q.id, vec![at[0].clone(), at[1].clone(), j[0].clone()])
                * Ex::Read(p.id, vec![at[0].clone(), j[0].clone()])
        })?;
        let product = b.zip(&[p, qp], Kind::FLOAT, |x| x[0].clone() * x[1].clone())?;
        let mut pqp = b.reduce(&[rows, 1], &[classes], Kind::FLOAT, Aggregate::Add, |_, at, j| {
            Ex::Read(product.id, vec![at[0].clone(), j[0].clone()])
        })?;
        let off = b.zip(&[qp, pqp], Kind::FLOAT, |x| call(Function::Abs, x[0].clone() - x[1].clone()))?;
        let worst = b.reduce(&[rows, 1], &[classes], Kind::FLOAT, Aggregate::Max, |_, at, j| {
            Ex::Read(off.id, vec![at[0].clone(), j[0].clone()])
        })?;
        let own = b.apply(worst, |x| x.ge(limit))?;
        let more = match goes_on {
            Some(before) => b.zip(&[own, before], Kind::Bool, |x| x[0].clone() * x[1].clone())?,
            None => own,
        };
        goes_on = Some(more);
        for i in 0..classes {
            let step = b.map(&[rows, 1], Kind::FLOAT, |_, at| {
                let read = |value: Val, index: Vec<i64>| {
                    Ex::Read(value.id, [vec![at[0].clone()], index.into_iter().map(fixed).collect()].concat())
                };
                (read(pqp, vec![0]) - read(qp, vec![i])) / read(q, vec![i, i]) * read(more, vec![0])
            })?;
            let rate = b.apply(step, |x| num(1.0) / (x + 1.0))?;
            pqp = b.map(&[rows, 1], Kind::FLOAT, |_, at| {
                let read = |value: Val, index: Vec<i64>| {
                    Ex::Read(value.id, [vec![at[0].clone()], index.into_iter().map(fixed).collect()].concat())
                };
                let step = read(step, vec![0]);
                let grown = step.clone() * (step * read(q, vec![i, i]) + read(qp, vec![i]) * 2.0);
                (read(pqp, vec![0]) + grown) * read(rate, vec![0]).squared()
            })?;
            qp = b.map(&shape, Kind::FLOAT, |b, at| {
                let moved = Ex::Read(q.id, vec![at[0].clone(), fixed(i), at[1].clone()]) * b.read(step, at);
                (b.read(qp, at) + moved) * b.read(rate, at)
            })?;
            p = b.map(&shape, Kind::FLOAT, |b, at| {
                let own = Ex::At(at[1].clone()).equals(i as f64) * b.read(step, at);
                (b.read(p, at) + own) * b.read(rate, at)
            })?;
        }
    }
    Ok(p)
}
