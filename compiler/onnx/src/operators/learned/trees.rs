//! Ensembles of trees as `ai.onnx.ml` writes them: lists of nodes with numbers, or, from opset 5 on, interior nodes and leaves apart.

use crate::build::{Refusal, Translated};
use crate::call::Call;
use crate::graph::Lowering;
use arch::Code;
use std::collections::{BTreeMap, BTreeSet};

/// Nodes of all trees together, with those that several parents share counted for each.
const NODES: usize = 1 << 20;

/// How a feature compares with a threshold, as the set of outcomes that hold. Where the feature is missing, none does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Outcomes(u8);

impl Outcomes {
    /// Below the threshold.
    pub(super) const LESS: Outcomes = Outcomes(1);
    /// Equal to it.
    pub(super) const EQUAL: Outcomes = Outcomes(2);
    /// Above it.
    pub(super) const MORE: Outcomes = Outcomes(4);
    /// Below or equal.
    pub(super) const AT_MOST: Outcomes = Outcomes(3);
    /// Above or equal.
    pub(super) const AT_LEAST: Outcomes = Outcomes(6);
    /// Below or above.
    pub(super) const UNEQUAL: Outcomes = Outcomes(5);

    fn others(self) -> Outcomes {
        Outcomes(7 - self.0)
    }
}

/// A question about one feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Question {
    /// Which feature.
    pub(super) feature: i64,
    /// What it is compared with.
    pub(super) threshold: f64,
    /// The end of what counts as equal to it.
    pub(super) until: f64,
    /// What holds on the way to `yes`.
    pub(super) outcomes: Outcomes,
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    /// Two ways on.
    Split(Question, Box<[Tree; 2]>),
    /// What is added to which target.
    Leaf(Vec<(usize, f64)>),
}

impl Tree {
    /// Questions on the longest way.
    pub(super) fn depth(&self) -> usize {
        match self {
            Tree::Split(_, ways) => 1 + ways[0].depth().max(ways[1].depth()),
            Tree::Leaf(_) => 0,
        }
    }

    /// Change the weights of all leaves.
    fn each_weight(&mut self, change: &impl Fn(&mut (usize, f64))) {
        match self {
            Tree::Split(_, ways) => ways.iter_mut().for_each(|tree| tree.each_weight(change)),
            Tree::Leaf(weights) => weights.iter_mut().for_each(change),
        }
    }

    /// Multiply all weights.
    pub(super) fn scale(&mut self, factor: f64) {
        self.each_weight(&|(_, weight)| *weight *= factor);
    }

    /// Let all leaves speak for the first target.
    pub(super) fn alone(&mut self) {
        self.each_weight(&|(target, _)| *target = 0);
    }

    /// Compare as single precision does. Host values are `f64`: 0.7 is not at most the single 0.7, but rounded to single it is. So thresholds move to
    /// where rounding changes the outcome.
    pub(super) fn in_single(&mut self) {
        let Tree::Split(question, ways) = self else { return };
        ways.iter_mut().for_each(Tree::in_single);
        let Some((below, above)) = rounds_to(question.threshold) else { return };
        (question.threshold, question.until) = match question.outcomes {
            Outcomes::LESS | Outcomes::AT_LEAST => (below, below),
            Outcomes::EQUAL | Outcomes::UNEQUAL => (below, above),
            _ => (above, above),
        };
    }

    /// Leaves, in the order of `yes` before `no`.
    pub(super) fn leaves(&self) -> Vec<&[(usize, f64)]> {
        match self {
            Tree::Split(_, ways) => [ways[0].leaves(), ways[1].leaves()].concat(),
            Tree::Leaf(weights) => vec![weights],
        }
    }
}

/// The ends of what single precision rounds to this number; nothing if that makes no difference to decimals, such as for 0.5, or it has more bits.
fn rounds_to(number: f64) -> Option<(f64, f64)> {
    let single = number as f32;
    let same = number.is_finite() && f64::from(single) == number;
    let decimal = single.to_string().parse::<f64>();
    let between = |other: f32| f64::midpoint(number, f64::from(other));
    (same && decimal != Ok(number)).then(|| (between(single.next_down()), between(single.next_up())))
}

/// A node as the file has it; `yes` and `no` are places of others.
struct Flat {
    feature: i64,
    threshold: f64,
    mode: Mode,
    missing: bool,
    yes: usize,
    no: usize,
    weights: Vec<(usize, f64)>,
}

#[derive(Clone)]
enum Mode {
    Compare(Outcomes),
    Member(Vec<f64>),
    Leaf,
}

fn damaged<T>(message: impl Into<String>) -> Translated<T> {
    Err(Refusal::new(Code::Data, message).help("export the model again; `onnx.checker` says more about a file"))
}

/// Numbers of an attribute, or of its form with more bits, a tensor.
pub(super) fn numbers(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, name: &str) -> Translated<Vec<f64>> {
    let Some(attribute) = c.attribute(&format!("{name}_as_tensor")).or_else(|| c.attribute(name)) else {
        return Ok(Vec::new());
    };
    if attribute.tensor.is_none() {
        return Ok(attribute.floats.iter().map(|&value| f64::from(value)).collect());
    }
    let constants = l.attribute_constants(attribute)?;
    Ok(l.builder.known(constants).map(<[f64]>::to_vec).unwrap_or_default())
}

/// The trees of a classifier or regressor of versions 1 to 3; `prefix` is that of the leaves' attributes: `class` or `target`.
pub(super) fn of_lists(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, prefix: &str) -> Translated<Vec<Tree>> {
    let list = |name: &str| c.ints(name).unwrap_or_default();
    let (trees, numbers_of) = (list("nodes_treeids"), list("nodes_nodeids"));
    let (features, yes, no) = (list("nodes_featureids"), list("nodes_truenodeids"), list("nodes_falsenodeids"));
    let missing = list("nodes_missing_value_tracks_true");
    let thresholds = numbers(l, c, "nodes_values")?;
    let modes = c.attribute("nodes_modes").map(|attribute| attribute.texts.clone()).unwrap_or_default();
    let count = trees.len();
    let lengths = [numbers_of.len(), features.len(), yes.len(), no.len(), thresholds.len(), modes.len()];
    if count == 0 || lengths.iter().any(|&length| length != count) {
        return damaged(format!("its lists of nodes differ in length, or have none: {count} and {lengths:?}"));
    }
    let place: BTreeMap<(i64, i64), usize> = (0..count).map(|n| ((trees[n], numbers_of[n]), n)).collect();
    if place.len() != count {
        return damaged("two of its nodes have the same number");
    }
    let mut nodes = Vec::with_capacity(count);
    for n in 0..count {
        let mode = mode(&String::from_utf8_lossy(modes[n]))?;
        let way = |to: i64| match mode {
            Mode::Leaf => Ok(0),
            _ => place.get(&(trees[n], to)).copied().map_or_else(|| damaged(format!("there is no node {to}")), Ok),
        };
        let (yes, no) = (way(yes[n])?, way(no[n])?);
        let missing = missing.get(n).is_some_and(|&flag| flag != 0);
        nodes.push(Flat {
            feature: features[n],
            threshold: thresholds[n],
            mode,
            missing,
            yes,
            no,
            weights: Vec::new(),
        });
    }
    let (ids, owners, at) =
        (list(&format!("{prefix}_ids")), list(&format!("{prefix}_treeids")), list(&format!("{prefix}_nodeids")));
    let weights = numbers(l, c, &format!("{prefix}_weights"))?;
    if [owners.len(), at.len(), weights.len()].iter().any(|&length| length != ids.len()) {
        return damaged("its lists of leaves differ in length");
    }
    for (n, &weight) in weights.iter().enumerate() {
        let target = usize::try_from(ids[n]).or_else(|_| damaged("a target is below 0"))?;
        match place.get(&(owners[n], at[n])) {
            Some(&leaf) => nodes[leaf].weights.push((target, weight)),
            None => return damaged(format!("there is no node {} for a weight", at[n])),
        }
    }
    // The first node of a tree is its root.
    let mut seen = BTreeSet::new();
    grown(&nodes, (0..count).filter(|&n| seen.insert(trees[n])))
}

/// The trees of the operator `TreeEnsemble` of version 5.
pub(super) fn of_parts(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Tree>> {
    let list = |name: &str| c.ints(name).unwrap_or_default();
    let (features, missing) = (list("nodes_featureids"), list("nodes_missing_value_tracks_true"));
    let (yes, no) = (list("nodes_truenodeids"), list("nodes_falsenodeids"));
    let (yes_leaf, no_leaf) = (list("nodes_trueleafs"), list("nodes_falseleafs"));
    let (thresholds, modes) = (numbers(l, c, "nodes_splits")?, numbers(l, c, "nodes_modes")?);
    let members = numbers(l, c, "membership_values")?;
    let (targets, weights) = (list("leaf_targetids"), numbers(l, c, "leaf_weights")?);
    let count = features.len();
    let lengths = [yes.len(), no.len(), yes_leaf.len(), no_leaf.len(), thresholds.len(), modes.len()];
    if lengths.iter().any(|&length| length != count) || targets.len() != weights.len() {
        return damaged(format!("its lists of nodes differ in length: {count} and {lengths:?}"));
    }
    let mut sets = members.split(|value| value.is_nan());
    let mut nodes = Vec::with_capacity(count + targets.len());
    for n in 0..count {
        let mode = match modes[n] as i64 {
            0 => Mode::Compare(Outcomes::AT_MOST),
            1 => Mode::Compare(Outcomes::LESS),
            2 => Mode::Compare(Outcomes::AT_LEAST),
            3 => Mode::Compare(Outcomes::MORE),
            4 => Mode::Compare(Outcomes::EQUAL),
            5 => Mode::Compare(Outcomes::UNEQUAL),
            6 => Mode::Member(sets.next().unwrap_or_default().to_vec()),
            other => return damaged(format!("there is no mode {other} of a node")),
        };
        let way = |to: i64, leaf: i64| {
            let most = if leaf == 0 { count } else { targets.len() };
            let found = usize::try_from(to).ok().filter(|&to| to < most);
            found.map_or_else(
                || damaged(format!("there is no node {to}")),
                |to| Ok(if leaf == 0 { to } else { count + to }),
            )
        };
        nodes.push(Flat {
            feature: features[n],
            threshold: thresholds[n],
            mode,
            missing: missing.get(n).is_some_and(|&flag| flag != 0),
            yes: way(yes[n], yes_leaf[n])?,
            no: way(no[n], no_leaf[n])?,
            weights: Vec::new(),
        });
    }
    for (&target, &weight) in targets.iter().zip(&weights) {
        let target = usize::try_from(target).or_else(|_| damaged("a target is below 0"))?;
        let leaf =
            Flat { feature: 0, threshold: 0.0, mode: Mode::Leaf, missing: false, yes: 0, no: 0, weights: Vec::new() };
        nodes.push(Flat { weights: vec![(target, weight)], ..leaf });
    }
    let roots = list("tree_roots").into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>();
    match roots {
        Ok(roots) if !roots.is_empty() && roots.iter().all(|&root| root < count) => grown(&nodes, roots.into_iter()),
        _ => damaged("a root is no node"),
    }
}

fn mode(name: &str) -> Translated<Mode> {
    Ok(Mode::Compare(match name {
        "BRANCH_LEQ" => Outcomes::AT_MOST,
        "BRANCH_LT" => Outcomes::LESS,
        "BRANCH_GTE" => Outcomes::AT_LEAST,
        "BRANCH_GT" => Outcomes::MORE,
        "BRANCH_EQ" => Outcomes::EQUAL,
        "BRANCH_NEQ" => Outcomes::UNEQUAL,
        "LEAF" => return Ok(Mode::Leaf),
        other => return damaged(format!("there is no mode {other} of a node")),
    }))
}

fn grown(nodes: &[Flat], roots: impl Iterator<Item = usize>) -> Translated<Vec<Tree>> {
    let mut left = NODES;
    roots.map(|root| grow(nodes, root, &mut left, 0)).collect()
}

/// The tree below a node. Files may close a circle, or let many parents share a node: what they make is counted.
fn grow(nodes: &[Flat], at: usize, left: &mut usize, depth: usize) -> Translated<Tree> {
    if *left == 0 || depth > 512 {
        let message = format!("its trees have more than {NODES} nodes or 512 levels, or a node is below itself");
        return Err(Refusal::new(Code::Limit, message).help("train fewer or less deep trees"));
    }
    *left -= 1;
    let node = &nodes[at];
    let split = |outcomes: Outcomes, threshold: f64, ways: [Tree; 2]| {
        let question = |outcomes| Question { feature: node.feature, threshold, until: threshold, outcomes };
        let [yes, no] = ways;
        // A missing value has no outcome. Where it should hold, the question is whether one of the others does.
        if node.missing {
            Tree::Split(question(outcomes.others()), Box::new([no, yes]))
        } else {
            Tree::Split(question(outcomes), Box::new([yes, no]))
        }
    };
    Ok(match &node.mode {
        Mode::Leaf => Tree::Leaf(node.weights.clone()),
        // Not equal is what a missing value is, too.
        Mode::Compare(Outcomes::UNEQUAL) if !node.missing => {
            let question = Question {
                feature: node.feature,
                threshold: node.threshold,
                until: node.threshold,
                outcomes: Outcomes::EQUAL,
            };
            let (yes, no) = (grow(nodes, node.yes, left, depth + 1)?, grow(nodes, node.no, left, depth + 1)?);
            Tree::Split(question, Box::new([no, yes]))
        }
        Mode::Compare(outcomes) => {
            let ways = [grow(nodes, node.yes, left, depth + 1)?, grow(nodes, node.no, left, depth + 1)?];
            split(*outcomes, node.threshold, ways)
        }
        Mode::Member(values) => {
            let mut tree = grow(nodes, node.no, left, depth + 1)?;
            for &value in values {
                tree = split(Outcomes::EQUAL, value, [grow(nodes, node.yes, left, depth + 1)?, tree]);
            }
            tree
        }
    })
}
