//! Attention: scaled products of queries and keys, masked, through softmax, times values; and rotary positions.

use crate::build::{Translated, Val, misfit};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{Ex, call, fixed, num, select};
use crate::graph::Lowering;
use compiler::tensor::{Affine, Aggregate, Function};

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    let one = |value: Val| Ok(Some(vec![Slot::Tensor(value)]));
    match c.node.operator {
        "Attention" => attention(l, c).map(Some),
        "RotaryEmbedding" => one(rotary(l, c)?),
        "SwiGLU" => {
            let (a, b) = (c.input(0)?, c.input(1)?);
            let alpha = c.float("alpha", 1.0);
            one(l.builder.zip(&[a, b], a.kind, |x| {
                x[0].clone() * call(Function::Sigmoid, x[0].clone() * alpha) * x[1].clone()
            })?)
        }
        "TensorScatter" => one(cache(l, c)?),
        _ => Ok(None),
    }
}

/// `[batch, length, heads * size]` to `[batch, heads, length, size]`
fn heads(l: &mut Lowering<'_, '_>, x: Val, count: i64) -> Translated<Val> {
    let shape = l.builder.shape(x);
    let [batch, length, hidden] = shape[..] else {
        return if shape.len() == 4 { Ok(x) } else { misfit(format!("{shape:?} is not a sequence of heads")) };
    };
    if count < 1 || hidden % count != 0 {
        return misfit(format!("{hidden} elements do not make {count} heads"));
    }
    let split = l.builder.reshape(x, &[batch, length, count, hidden / count])?;
    l.builder.transpose(split, &[0, 2, 1, 3])
}

/// `[batch, heads, length, size]` to `[batch, length, heads * size]`
fn flat(l: &mut Lowering<'_, '_>, x: Val) -> Translated<Val> {
    let shape = l.builder.shape(x);
    let turned = l.builder.transpose(x, &[0, 2, 1, 3])?;
    l.builder.reshape(turned, &[shape[0], shape[2], shape[1] * shape[3]])
}

fn attention(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let (query, mut key, mut value) = (c.input(0)?, c.input(1)?, c.input(2)?);
    let is_flat = l.builder.rank(query) == 3;
    let query = heads(l, query, c.int("q_num_heads", 0))?;
    key = heads(l, key, c.int("kv_num_heads", 0))?;
    value = heads(l, value, c.int("kv_num_heads", 0))?;
    let mut past = 0;
    if let (Some(past_key), Some(past_value)) = (c.optional(4)?, c.optional(5)?) {
        let [_, _, length, _] = l.builder.shape(past_key)[..] else {
            return misfit("past keys and values have four dimensions");
        };
        past = length;
        key = l.builder.concat(&[past_key, key], 2)?;
        value = l.builder.concat(&[past_value, value], 2)?;
    }
    let (of_query, of_key, of_value) = (l.builder.shape(query), l.builder.shape(key), l.builder.shape(value));
    let (batch, count, length, size) = (of_query[0], of_query[1], of_query[2], of_query[3]);
    let (groups, total) = (of_key[1], of_key[2]);
    if groups < 1 || count % groups != 0 || of_key[3] != size || of_key[0] != batch || of_value[..3] != of_key[..3] {
        return misfit(format!("{of_query:?}, {of_key:?} and {of_value:?} are not queries, keys and values"));
    }
    let scale = c.float("scale", 1.0 / (size as f64).sqrt());
    let share = count / groups;
    // Heads share keys in groups: the index of a head is that of its group and one in it.
    let shape = [batch, groups, share, length, total];
    let scores = l.builder.reduce(&shape, &[size], query.kind, Aggregate::Add, |_, at, k| {
        let head = Affine::default().plus(share, &at[1]).plus(1, &at[2]);
        let q = Ex::Read(query.id, vec![at[0].clone(), head, at[3].clone(), k[0].clone()]);
        let k = Ex::Read(key.id, vec![at[0].clone(), at[1].clone(), at[4].clone(), k[0].clone()]);
        q * scale * k
    })?;
    let scores = l.builder.reshape(scores, &[batch, count, length, total])?;
    let mode = c.int("qk_matmul_output_mode", 0);
    let cap = c.float("softcap", 0.0);
    let capped = if cap > 0.0 { l.builder.apply(scores, |x| call(Function::Tanh, x / cap) * cap)? } else { scores };
    let (biased, allowed) = masked(l, c, capped, past)?;
    let weights = match allowed {
        Some(allowed) => masked_softmax(l, biased, allowed)?,
        None => l.softmax(biased, 3, false)?,
    };
    let out = averaged(l, weights, Val { kind: query.kind, ..value }, share)?;
    let out = if is_flat { flat(l, out)? } else { out };
    let shown = match mode {
        0 => scores,
        1 => capped,
        2 => match allowed {
            Some(allowed) => l
                .builder
                .zip(&[biased, allowed], biased.kind, |x| select(x[1].clone(), x[0].clone(), num(f64::NEG_INFINITY)))?,
            None => biased,
        },
        _ => weights,
    };
    Ok([out, key, value, shown].into_iter().map(Slot::Tensor).collect())
}

/// Values times their weights; `share` heads have the same values.
fn averaged(l: &mut Lowering<'_, '_>, weights: Val, value: Val, share: i64) -> Translated<Val> {
    let (of_weights, of_value) = (l.builder.shape(weights), l.builder.shape(value));
    let shape = [of_weights[0], of_weights[1], of_weights[2], of_value[3]];
    l.builder.reduce(&shape, &[of_value[2]], value.kind, Aggregate::Add, |_, at, k| {
        let weight = Ex::Read(weights.id, vec![at[0].clone(), at[1].clone(), at[2].clone(), k[0].clone()]);
        let own = if share == 1 {
            Ex::Read(value.id, vec![at[0].clone(), at[1].clone(), k[0].clone(), at[3].clone()])
        } else {
            let group = (Ex::At(at[1].clone()) / share as f64).floor();
            let index = vec![Ex::At(at[0].clone()), group, Ex::At(k[0].clone()), Ex::At(at[3].clone())];
            Ex::Gather(value.id, index)
        };
        weight * own
    })
}

/// Scores with what is added to them, and which of them count; nothing if all do.
fn masked(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, scores: Val, past: i64) -> Translated<(Val, Option<Val>)> {
    let shape = l.builder.shape(scores);
    let (length, total) = (shape[2], shape[3]);
    let (causal, padded) = (c.int("is_causal", 0) != 0, c.optional(6)?);
    let (left, right) = (c.int("left_window_size", -1), c.int("right_window_size", -1));
    let right = if causal { if right < 0 { 0 } else { right.min(0) } } else { right };
    let (mut biased, mut conditions) = (scores, Vec::new());
    if let Some(mut mask) = c.optional(3)? {
        let own = l.builder.shape(mask);
        let last = *own.last().unwrap_or(&1);
        if last != total && last != 1 {
            let mut after = vec![0; own.len()];
            after[own.len() - 1] = total - last;
            let none = if mask.kind == Kind::Bool { 0.0 } else { f64::NEG_INFINITY };
            mask = l.pad(mask, &vec![0; own.len()], &after, "constant", super::layout::Filling::Number(none))?;
        }
        if mask.kind == Kind::Bool {
            conditions.push(mask);
        } else {
            // An infinite mask is a condition, and nothing is added there: so everything stays finite.
            let finite = l.builder.apply(mask, |x| x.differs(f64::NEG_INFINITY))?;
            let finite = Val { kind: Kind::Bool, ..finite };
            conditions.push(finite);
            biased = l.builder.zip(&[scores, mask, finite], scores.kind, |x| {
                x[0].clone() + select(x[2].clone(), x[1].clone(), num(0.0))
            })?;
        }
    }
    if right >= 0 || left >= 0 || padded.is_some() {
        let frontier = l.builder.map(&[shape[0], 1, length, total], Kind::Bool, |b, at| {
            let valid = padded.map(|padded| b.read(padded, &at[..1]));
            let offset = match &valid {
                Some(valid) if past == 0 => valid.clone() - length as f64,
                _ => num(past as f64),
            };
            let (key, place) = (Ex::At(at[3].clone()), Ex::At(at[2].clone()) + offset);
            let mut kept = num(1.0);
            if right >= 0 {
                kept = kept.and(key.clone().le(place.clone() + right as f64));
            }
            if left >= 0 {
                kept = kept.and(key.clone().ge(place - left as f64));
            }
            match valid {
                Some(valid) => kept.and(key.lt(valid)),
                None => kept,
            }
        })?;
        conditions.push(frontier);
    }
    if conditions.is_empty() {
        return Ok((biased, None));
    }
    let count = conditions.len();
    let values: Vec<Val> = [scores].into_iter().chain(conditions).collect();
    let allowed = l
        .builder
        .zip(&values, Kind::Bool, |x| x.into_iter().skip(1).take(count).reduce(Ex::and).unwrap_or(num(1.0)))?;
    Ok((biased, Some(allowed)))
}

/// Softmax along the last axis over what counts; 0 where nothing does. What does not count is as small as the smallest score, so that binary
/// points follow from the scores alone.
fn masked_softmax(l: &mut Lowering<'_, '_>, scores: Val, allowed: Val) -> Translated<Val> {
    let least = l.along_kept(scores, &[3], Aggregate::Min, |x| x)?;
    let low =
        l.builder.zip(&[scores, allowed, least], scores.kind, |x| select(x[1].clone(), x[0].clone(), x[2].clone()))?;
    let most = l.along_kept(low, &[3], Aggregate::Max, |x| x)?;
    let powers = l.builder.zip(&[low, most, allowed], scores.kind, |x| {
        call(Function::Exp, x[0].clone() - x[1].clone()) * x[2].clone().differs(0.0)
    })?;
    let total = l.along_kept(powers, &[3], Aggregate::Add, |x| x)?;
    l.builder.zip(&[powers, total], scores.kind, |x| x[0].clone() / (x[1].clone() + x[1].clone().equals(0.0)))
}

fn rotary(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (x, cos, sin) = (c.input(0)?, c.input(1)?, c.input(2)?);
    let is_flat = l.builder.rank(x) == 3;
    let value = heads(l, x, c.int("num_heads", 0))?;
    let shape = l.builder.shape(value);
    let size = match c.int("rotary_embedding_dim", 0) {
        0 => shape[3],
        size => size,
    };
    let (half, between) = (size / 2, c.int("interleaved", 0) != 0);
    if size < 2 || size > shape[3] {
        return misfit(format!("{size} of {} elements cannot be turned", shape[3]));
    }
    let (cos, sin) = match c.optional(3)? {
        Some(places) => (l.gather(cos, places, 0)?, l.gather(sin, places, 0)?),
        None => (cos, sin),
    };
    let begun = l.builder.begin(&shape, value.kind)?;
    let loops = crate::build::Loops::each(&[shape[0], shape[1], shape[2], half]);
    let at: Vec<Affine> = (0..4).map(crate::expression::it).collect();
    let place = |second: bool| {
        let (factor, offset) = if between { (2, i64::from(second)) } else { (1, if second { half } else { 0 }) };
        let mut index = at.clone();
        index[3] = crate::expression::scaled(&at[3], factor, offset);
        index
    };
    let turn = [at[0].clone(), at[2].clone(), at[3].clone()];
    let (c1, s1) = (l.builder.read(cos, &turn), l.builder.read(sin, &turn));
    let (a, b) = (Ex::Read(value.id, place(false)), Ex::Read(value.id, place(true)));
    l.builder.nest(begun.0, place(false), &loops, &(c1.clone() * a.clone() - s1.clone() * b.clone()))?;
    l.builder.nest(begun.0, place(true), &loops, &(s1 * a + c1 * b))?;
    if size < shape[3] {
        let loops = crate::build::Loops::each(&[shape[0], shape[1], shape[2], shape[3] - size]);
        let mut index = at.clone();
        index[3] = fixed(size).plus(1, &at[3]);
        l.builder.nest(begun.0, index.clone(), &loops, &Ex::Read(value.id, index))?;
    }
    let out = l.builder.finish(begun);
    if is_flat { flat(l, out) } else { Ok(out) }
}

/// New keys or values in a cache, from an index on.
fn cache(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (past, update, index) = (c.input(0)?, c.input(1)?, c.optional(2)?);
    let shape = l.builder.shape(past);
    let axis = c.axis("axis", -2, shape.len())?;
    if l.builder.rank(update) != shape.len() {
        return misfit(format!("{:?} does not go into {shape:?}", l.builder.shape(update)));
    }
    let (length, most) = (l.builder.shape(update)[axis], shape[axis]);
    let circular = c.text("mode", "linear") == "circular";
    let hit = |b: &crate::build::Builder, at: &[Affine], k: &Affine| {
        let first = index.map_or(num(0.0), |index| b.read(index, &at[..1]));
        let place = first + Ex::At(k.clone());
        let place = if circular { place.floor_rem(most as f64) } else { place };
        place.equals(Ex::At(at[axis].clone()))
    };
    let new = l.builder.reduce(&shape, &[length], past.kind, Aggregate::Add, |b, at, k| {
        let mut place = at.to_vec();
        place[axis] = k[0].clone();
        select(hit(b, at, &k[0]), Ex::Read(update.id, place), num(0.0))
    })?;
    let any = l.builder.reduce(&shape, &[length], Kind::Bool, Aggregate::Max, |b, at, k| hit(b, at, &k[0]))?;
    l.builder.zip(&[any, new, past], past.kind, |x| select(x[0].clone(), x[1].clone(), x[2].clone()))
}
