//! Ensembles of trees as a few statements over whole matrices, however many nodes they have.
//!
//! Each tree gets the same shape, and each leaf an indicator: 1 where the way of a row ends, 0 elsewhere. Indicators are exact in words, and weights
//! are added once. There are three ways to the indicators; the one with the fewest operations is taken.
//!
//! ```text
//! complete    c[t][n] = question n of tree t          p'[t][k] = p[t][k] * c[t][k]    p'[t][k + 2^d] = p[t][k] * (1 - c[t][k])
//! paths       s[t][l] = sum[n](on[t][l][n] * c[t][n]) p[t][l] = s[t][l] >= how often the way to leaf l answers yes, less how often no
//! walk        n'[t] = yes[t][n[t]] or no[t][n[t]]     by the question of node n[t], as often as the deepest tree has levels
//! ```

use super::trees::{Outcomes, Question, Tree};
use crate::build::{Loops, Refusal, Translated, Val};
use crate::elements::Kind;
use crate::expression::{Ex, fixed, it, num, select};
use crate::graph::Lowering;
use arch::Code;
use compiler::tensor::{Affine, Aggregate};
use std::collections::BTreeSet;

/// Constants that an ensemble may become.
const CONSTANTS: i64 = 1 << 23;

/// How the values of trees are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Combined {
    /// Added.
    Sum,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

/// Trees as they lie in the tensors: `groups * each` of them, of which group `g` speaks for target `g`, or the only group for all.
struct Layout {
    groups: i64,
    each: i64,
    trees: Vec<Tree>,
    /// Targets that a leaf of a tree speaks for.
    targets: i64,
}

impl Layout {
    /// Trees that have one target each are sorted by it, if there are several targets: their leaves need no weights for the others.
    fn of(trees: Vec<Tree>, targets: usize) -> Layout {
        let own = |tree: &Tree| -> BTreeSet<usize> {
            tree.leaves().into_iter().flatten().map(|&(target, _)| target).collect()
        };
        let all: Vec<BTreeSet<usize>> = trees.iter().map(own).collect();
        if targets < 2 || all.iter().any(|targets| targets.len() > 1) {
            let each = trees.len() as i64;
            return Layout { groups: 1, each, trees, targets: targets as i64 };
        }
        let mut groups: Vec<Vec<Tree>> = vec![Vec::new(); targets];
        for (mut tree, own) in trees.into_iter().zip(all) {
            let target = own.first().copied().unwrap_or(0);
            tree.alone();
            groups[target].push(tree);
        }
        let each = groups.iter().map(Vec::len).max().unwrap_or(0);
        for group in &mut groups {
            group.resize(each, Tree::Leaf(Vec::new()));
        }
        Layout { groups: targets as i64, each: each as i64, trees: groups.concat(), targets: 1 }
    }

    fn count(&self) -> i64 {
        self.groups * self.each
    }
}

/// The indicators of leaves, `[rows][trees][leaves]`, and the weights of each leaf in that order.
struct Leaves<'t> {
    indicators: Val,
    weights: Vec<Vec<&'t [(usize, f64)]>>,
}

/// The values of an ensemble, `[rows][targets]`.
///
/// # Errors
/// A feature that is not there, or more constants than a program may have.
pub(super) fn values(
    l: &mut Lowering<'_, '_>,
    x: Val,
    trees: Vec<Tree>,
    targets: usize,
    combined: Combined,
) -> Translated<Val> {
    let layout = Layout::of(trees, targets);
    let features = l.builder.shape(x)[1];
    let depth = layout.trees.iter().map(Tree::depth).max().unwrap_or(0);
    let leaves = layout.trees.iter().map(|tree| tree.leaves().len()).max().unwrap_or(1) as i64;
    let complete = if depth < 24 { (features + 3) << depth } else { i64::MAX };
    let paths = leaves * (leaves + features + 3);
    let walk = depth as i64 * 3 * (8 * leaves + features) + 2 * leaves;
    let least = complete.min(paths).min(walk);
    if least.saturating_mul(layout.count()) > CONSTANTS.max(CONSTANTS * features / 8) {
        let message = format!("its {} trees of up to {leaves} leaves become too many constants", layout.count());
        return Err(Refusal::new(Code::Limit, message).help("train fewer trees, or limit their leaves or depth"));
    }
    let found = if least == complete {
        by_levels(l, x, &layout, depth)?
    } else if least == paths {
        by_paths(l, x, &layout, leaves)?
    } else {
        by_walk(l, x, &layout, depth)?
    };
    weighted(l, &layout, &found, targets, combined)
}

/// Indicators times weights.
fn weighted(
    l: &mut Lowering<'_, '_>,
    layout: &Layout,
    found: &Leaves<'_>,
    targets: usize,
    combined: Combined,
) -> Translated<Val> {
    let [rows, _, leaves] = l.builder.shape(found.indicators)[..] else {
        unreachable!("indicators have three dimensions")
    };
    let (groups, each, own) = (layout.groups, layout.each, layout.targets);
    // A leaf that says nothing of a target takes no part in extremes: the worst of all weights is never better than one that does.
    let all = || found.weights.iter().flatten().flat_map(|leaf| leaf.iter().map(|&(_, weight)| weight));
    let silent = match combined {
        Combined::Sum => 0.0,
        Combined::Min => all().fold(f64::NEG_INFINITY, f64::max),
        Combined::Max => all().fold(f64::INFINITY, f64::min),
    };
    let mut weights = vec![silent; (groups * each * leaves * own) as usize];
    for (t, tree) in found.weights.iter().enumerate() {
        for (n, leaf) in tree.iter().enumerate() {
            let place = (t * leaves as usize + n) * own as usize;
            for target in 0..own as usize {
                let said = leaf.iter().filter(|(known, _)| *known == target).map(|(_, weight)| weight);
                if let Some(sum) = said.copied().reduce(|a, b| a + b) {
                    weights[place + target] = sum;
                }
            }
        }
    }
    // 0 times infinity is no number.
    let infinite = weights.iter().any(|weight| !weight.is_finite());
    let chosen = |indicator: Ex, weight: Ex| {
        if infinite { select(indicator.gt(0.0), weight, num(0.0)) } else { indicator * weight }
    };
    let b = &mut l.builder;
    let weights = b.constants(&[groups * each, leaves, own], Kind::FLOAT, weights)?;
    let indicators = found.indicators.id;
    let place = |n: &Affine, column: &Affine| {
        let (group, target) = if groups == 1 { (fixed(0), column.clone()) } else { (column.clone(), fixed(0)) };
        (Affine::default().plus(each, &group).plus(1, n), target)
    };
    if combined == Combined::Sum {
        return b.reduce(&[rows, targets as i64], &[each, leaves], Kind::FLOAT, Aggregate::Add, |_, at, over| {
            let (t, target) = place(&over[0], &at[1]);
            let indicator = Ex::Read(indicators, vec![at[0].clone(), t.clone(), over[1].clone()]);
            chosen(indicator, Ex::Read(weights.id, vec![t, over[1].clone(), target]))
        });
    }
    let each_tree = b.reduce(&[rows, groups * each, own], &[leaves], Kind::FLOAT, Aggregate::Add, |_, at, leaf| {
        let indicator = Ex::Read(indicators, vec![at[0].clone(), at[1].clone(), leaf[0].clone()]);
        chosen(indicator, Ex::Read(weights.id, vec![at[1].clone(), leaf[0].clone(), at[2].clone()]))
    })?;
    let aggregate = if combined == Combined::Min { Aggregate::Min } else { Aggregate::Max };
    let extreme = b.reduce(&[rows, targets as i64], &[each], Kind::FLOAT, aggregate, |_, at, over| {
        let (t, target) = place(&over[0], &at[1]);
        Ex::Read(each_tree.id, vec![at[0].clone(), t, target])
    })?;
    let (voices, all_speak) = voices(found, [groups * each, leaves, own].map(|n| n as usize));
    if all_speak && groups == 1 {
        return Ok(extreme);
    }
    // Where no leaf speaks for a target, its value is 0.
    let voices = b.constants(&[groups * each, leaves, own], Kind::FLOAT, voices)?;
    let voices = b.reduce(&[rows, targets as i64], &[each, leaves], Kind::FLOAT, Aggregate::Add, |_, at, over| {
        let (t, target) = place(&over[0], &at[1]);
        Ex::Read(indicators, vec![at[0].clone(), t.clone(), over[1].clone()])
            * Ex::Read(voices.id, vec![t, over[1].clone(), target])
    })?;
    b.zip(&[extreme, voices], Kind::FLOAT, |x| select(x[1].clone().gt(0.0), x[0].clone(), num(0.0)))
}

/// For each leaf and target 1 where the leaf says something of it, `[tree][leaf][target]`; and whether all leaves speak of all targets.
fn voices(found: &Leaves<'_>, [trees, leaves, targets]: [usize; 3]) -> (Vec<f64>, bool) {
    let mut voices = vec![0.0; trees * leaves * targets];
    let mut all_speak = true;
    for (t, tree) in found.weights.iter().enumerate() {
        for (n, leaf) in tree.iter().enumerate() {
            for target in 0..targets {
                let speaks = leaf.iter().any(|(known, _)| *known == target);
                all_speak &= speaks;
                voices[(t * leaves + n) * targets + target] = f64::from(u8::from(speaks));
            }
        }
    }
    (voices, all_speak)
}

/// The answers to questions, `[rows][trees][questions]`: 0 or 1.
fn answers(l: &mut Lowering<'_, '_>, x: Val, trees: i64, questions: &[Option<Question>]) -> Translated<Val> {
    let rows = l.builder.shape(x)[0];
    let shape = [trees, questions.len() as i64 / trees.max(1)];
    let table = Table::new(l, x, &shape, questions)?;
    l.builder.map(&[rows, shape[0], shape[1]], Kind::Bool, |_, at| {
        let place = [at[1].clone(), at[2].clone()];
        table.answer(x, at[0].clone(), |values| Ex::Read(values.id, place.to_vec()))
    })
}

/// Questions as constants.
struct Table {
    features: Val,
    thresholds: Val,
    /// Where what counts as equal to a threshold ends, if it is more than one number.
    ends: Option<Val>,
    /// The outcomes that hold, and where it is these; everywhere, if there is one kind.
    kinds: Vec<(Outcomes, Option<Val>)>,
}

impl Table {
    /// Of questions in this shape; `None`: the answer does not matter.
    fn new(l: &mut Lowering<'_, '_>, x: Val, shape: &[i64], questions: &[Option<Question>]) -> Translated<Table> {
        let width = l.builder.shape(x)[1];
        let asked = || questions.iter().flatten();
        if let Some(wrong) = asked().find(|question| !(0..width).contains(&question.feature)) {
            let message = format!("it asks for feature {} of {width}", wrong.feature);
            return Err(Refusal::new(Code::Bounds, message));
        }
        let b = &mut l.builder;
        let of = |value: fn(&Question) -> f64| -> Vec<f64> {
            questions.iter().map(|question| question.as_ref().map_or(0.0, value)).collect()
        };
        let features = b.constants(shape, Kind::INT64, of(|question| question.feature as f64))?;
        let thresholds = b.constants(shape, Kind::FLOAT, of(|question| question.threshold))?;
        let wide = asked().any(|question| question.until != question.threshold);
        let ends = wide.then(|| b.constants(shape, Kind::FLOAT, of(|question| question.until))).transpose()?;
        let kinds: BTreeSet<Outcomes> = asked().map(|question| question.outcomes).collect();
        let single = kinds.len() == 1;
        let kinds = kinds.into_iter().map(|kind| {
            let is = |question: &Option<Question>| question.is_some_and(|question| question.outcomes == kind);
            let flags = questions.iter().map(|question| f64::from(u8::from(is(question)))).collect();
            Ok((kind, if single { None } else { Some(b.constants(shape, Kind::Bool, flags)?) }))
        });
        Ok(Table { features, thresholds, ends, kinds: kinds.collect::<Translated<_>>()? })
    }

    /// The answer for a row, at the place of the tables that `read` reads.
    fn answer(&self, x: Val, row: Affine, read: impl Fn(Val) -> Ex) -> Ex {
        let value = Ex::Gather(x.id, vec![Ex::At(row), read(self.features)]);
        let threshold = read(self.thresholds);
        let answers = self.kinds.iter().map(|(kind, flags)| {
            let (value, threshold) = (value.clone(), threshold.clone());
            let end = self.ends.map(&read);
            let answer = match *kind {
                Outcomes::LESS => value.lt(threshold),
                Outcomes::EQUAL => match end {
                    Some(end) => value.clone().ge(threshold) * value.le(end),
                    None => value.equals(threshold),
                },
                Outcomes::MORE => value.gt(threshold),
                Outcomes::AT_LEAST => value.ge(threshold),
                Outcomes::AT_MOST => value.le(threshold),
                _ => value.clone().lt(threshold.clone()).or(value.gt(end.unwrap_or(threshold))),
            };
            match flags {
                Some(flags) => read(*flags) * answer,
                None => answer,
            }
        });
        answers.reduce(|a, b| a + b).unwrap_or(num(0.0))
    }
}

/// Trees of the same depth, level by level. A leaf that lies higher is every leaf below it.
fn by_levels<'t>(l: &mut Lowering<'_, '_>, x: Val, layout: &'t Layout, depth: usize) -> Translated<Leaves<'t>> {
    let (rows, trees) = (l.builder.shape(x)[0], layout.count());
    let (mut questions, mut weights) = (Vec::new(), Vec::new());
    for tree in &layout.trees {
        let mut level = vec![tree];
        for _ in 0..depth {
            let ways = |node: &&'t Tree| match node {
                Tree::Split(question, ways) => (Some(*question), &ways[0], &ways[1]),
                Tree::Leaf(_) => (None, *node, *node),
            };
            let found: Vec<_> = level.iter().map(ways).collect();
            questions.extend(found.iter().map(|(question, ..)| *question));
            level = found.iter().map(|(_, yes, _)| *yes).chain(found.iter().map(|(.., no)| *no)).collect();
        }
        weights.push(level.into_iter().flat_map(Tree::leaves).collect());
    }
    let mut indicators = l.builder.constants(&[1, 1, 1], Kind::Bool, vec![1.0])?;
    if depth == 0 {
        indicators = l.builder.expand(indicators, &[rows, trees, 1])?;
        return Ok(Leaves { indicators, weights });
    }
    let answers = answers(l, x, trees, &questions)?.id;
    for level in 0..depth {
        let nodes = 1 << level;
        let b = &mut l.builder;
        let next = b.begin(&[rows, trees, 2 * nodes], Kind::Bool)?;
        let at = [it(0), it(1), it(2)];
        let parent = b.read(indicators, &at);
        let answer = Ex::Read(answers, vec![it(0), it(1), fixed(nodes - 1).plus(1, &it(2))]);
        let loops = Loops::each(&[rows, trees, nodes]);
        let (yes, no) = match level {
            0 => (answer.clone(), num(1.0) - answer),
            _ => (parent.clone() * answer.clone(), parent * (num(1.0) - answer)),
        };
        b.nest(next.0, at.to_vec(), &loops, &yes)?;
        b.nest(next.0, vec![it(0), it(1), fixed(nodes).plus(1, &it(2))], &loops, &no)?;
        indicators = b.finish(next);
    }
    Ok(Leaves { indicators, weights })
}

/// Every leaf by the answers on its way: each yes counts 1, each no -1, and only on its own way the count is as large as there are yeses.
fn by_paths<'t>(l: &mut Lowering<'_, '_>, x: Val, layout: &'t Layout, leaves: i64) -> Translated<Leaves<'t>> {
    let (rows, trees, splits) = (l.builder.shape(x)[0], layout.count(), leaves - 1);
    let mut questions = Vec::new();
    let mut signs = vec![0.0; (trees * leaves * splits) as usize];
    // No way has as many.
    let mut needed = vec![(leaves + 1) as f64; (trees * leaves) as usize];
    for (t, tree) in layout.trees.iter().enumerate() {
        let (mut asked, mut leaf) = (Vec::new(), t * leaves as usize);
        let mut open: Vec<(&Tree, Vec<(usize, f64)>)> = vec![(tree, Vec::new())];
        while let Some((node, way)) = open.pop() {
            match node {
                Tree::Split(question, ways) => {
                    let with = |sign| [way.as_slice(), &[(asked.len(), sign)]].concat();
                    open.push((&ways[1], with(-1.0)));
                    open.push((&ways[0], with(1.0)));
                    asked.push(Some(*question));
                }
                Tree::Leaf(_) => {
                    needed[leaf] = way.iter().filter(|(_, sign)| *sign > 0.0).count() as f64;
                    for (n, sign) in way {
                        signs[leaf * splits as usize + n] = sign;
                    }
                    leaf += 1;
                }
            }
        }
        asked.resize(splits as usize, None);
        questions.extend(asked);
    }
    let answers = answers(l, x, trees, &questions)?.id;
    let b = &mut l.builder;
    let signs = b.constants(&[trees, leaves, splits], Kind::FLOAT, signs)?.id;
    let needed = b.constants(&[trees, leaves], Kind::FLOAT, needed)?;
    let counts = b.reduce(&[rows, trees, leaves], &[splits], Kind::FLOAT, Aggregate::Add, |_, at, n| {
        Ex::Read(signs, vec![at[1].clone(), at[2].clone(), n[0].clone()])
            * Ex::Read(answers, vec![at[0].clone(), at[1].clone(), n[0].clone()])
    })?;
    let indicators = b.zip(&[counts, needed], Kind::Bool, |x| x[0].clone().ge(x[1].clone()))?;
    Ok(Leaves { indicators, weights: layout.trees.iter().map(Tree::leaves).collect() })
}

/// A node at a time, by its number; leaves lead to themselves.
fn by_walk<'t>(l: &mut Lowering<'_, '_>, x: Val, layout: &'t Layout, depth: usize) -> Translated<Leaves<'t>> {
    let (rows, trees) = (l.builder.shape(x)[0], layout.count());
    // Leaves first, so that their numbers are those of their indicators.
    let leaves = layout.trees.iter().map(|tree| tree.leaves().len()).max().unwrap_or(1);
    let nodes = (2 * leaves - 1) as i64;
    let mut questions = vec![None; (trees * nodes) as usize];
    let itself = |n: usize| (n as i64 % nodes) as f64;
    let mut ways: [Vec<f64>; 2] = std::array::from_fn(|_| (0..questions.len()).map(itself).collect());
    let mut roots = Vec::new();
    for (t, tree) in layout.trees.iter().enumerate() {
        let mut numbers = Numbers { leaf: 0, split: leaves, first: t * nodes as usize };
        roots.push(numbers.place(tree, &mut questions, &mut ways) as f64);
    }
    let table = Table::new(l, x, &[trees, nodes], &questions)?;
    let b = &mut l.builder;
    let [yes, no] = ways;
    let (yes, no) = (b.constants(&[trees, nodes], Kind::INT64, yes)?, b.constants(&[trees, nodes], Kind::INT64, no)?);
    let roots = b.constants(&[1, trees], Kind::INT64, roots)?;
    let mut node = b.expand(roots, &[rows, trees])?;
    for _ in 0..depth {
        node = l.builder.map(&[rows, trees], Kind::INT64, |b, at| {
            let (own, t) = (b.read(node, at), Ex::At(at[1].clone()));
            let read = |values: Val| Ex::Gather(values.id, vec![t.clone(), own.clone()]);
            select(table.answer(x, at[0].clone(), read), read(yes), read(no))
        })?;
    }
    let indicators = l
        .builder
        .map(&[rows, trees, leaves as i64], Kind::Bool, |b, at| b.read(node, &at[..2]).equals(Ex::At(at[2].clone())))?;
    Ok(Leaves { indicators, weights: layout.trees.iter().map(Tree::leaves).collect() })
}

/// The next free number of a leaf and of a split, and the place of the tree's first node.
struct Numbers {
    leaf: usize,
    split: usize,
    first: usize,
}

impl Numbers {
    /// The number of a node, with those below it in the tables.
    fn place(&mut self, tree: &Tree, questions: &mut [Option<Question>], ways: &mut [Vec<f64>; 2]) -> usize {
        let Tree::Split(question, next) = tree else {
            self.leaf += 1;
            return self.leaf - 1;
        };
        let own = self.split;
        self.split += 1;
        questions[self.first + own] = Some(*question);
        for (n, tree) in next.iter().enumerate() {
            ways[n][self.first + own] = self.place(tree, questions, ways) as f64;
        }
        own
    }
}
