//! Eliminate: the cheapest value of each variable, where the cost is a sum of tables over few variables each.
//!
//!     f(a, b) + g(b, c) + h(c)     c: h goes into g, and g into k(b) = min[c](g(b, c) + h(c));   b: f(a, b) + k(b);   a
//!
//! A variable goes together with all tables that mention it; one table over the others is left, with the best value of the variable for each
//! of its entries. The variable whose table is smallest goes first. This is exact, and linear in the length of a chain. Where a table
//! would be too large, its widest variable keeps the better half of its values; then the choice is a good one, and not always the best.

use std::collections::{BTreeMap, BTreeSet};

/// More than any choice costs: what cannot be.
pub(crate) const NEVER: u64 = 1 << 56;

/// Entries of the largest table.
pub(crate) const MOST_ENTRIES: u64 = 1 << 20;

/// A table of costs: an entry for each choice of values of its variables, those of the last one beside each other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Factor {
    /// Different ones.
    pub(crate) variables: Vec<usize>,
    pub(crate) costs: Vec<u64>,
}

/// The best choice.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub(crate) cost: u64,
    /// One per variable.
    pub(crate) values: Vec<usize>,
    /// Entries of all tables that were looked at.
    pub(crate) work: u64,
    /// Whether there is no better one.
    pub(crate) exact: bool,
}

/// A variable that is gone: the variables of its table with the values that were left of each, and its best value for each entry.
struct Gone {
    variable: usize,
    others: Vec<(usize, Vec<usize>)>,
    best: Vec<usize>,
}

/// A table with the values of one variable beside each other, and the step of each of the others.
struct Lines {
    costs: Vec<u64>,
    steps: Vec<usize>,
}

/// The variables and tables that are not eliminated yet.
#[derive(Clone)]
pub(crate) struct Rest {
    /// Per variable the values that are left.
    values: Vec<Vec<usize>>,
    /// By number; they come and go.
    factors: BTreeMap<usize, Factor>,
    /// Per variable the numbers of its tables.
    of: Vec<BTreeSet<usize>>,
    /// Next number of a table.
    next: usize,
    /// Per variable the entries of the table that it would go with; `None`: it is gone.
    entries: Vec<Option<u64>>,
    /// The same, smallest first.
    order: BTreeSet<(u64, usize)>,
    work: u64,
    exact: bool,
}

impl Rest {
    /// Variables with so many values each, without those that are impossible.
    pub(crate) fn new(sizes: &[usize], factors: Vec<Factor>) -> Rest {
        let mut rest = Rest {
            values: sizes.iter().map(|&size| (0..size).collect()).collect(),
            factors: BTreeMap::new(),
            of: vec![BTreeSet::new(); sizes.len()],
            next: 0,
            entries: vec![Some(0); sizes.len()],
            order: BTreeSet::new(),
            work: 0,
            exact: true,
        };
        for factor in factors {
            rest.add(factor);
        }
        (0..sizes.len()).for_each(|variable| rest.measure(variable));
        rest.prune((0..sizes.len()).collect());
        rest
    }

    /// A table of one variable more, over all values that it once had.
    pub(crate) fn weigh(&mut self, variable: usize, cost: impl Fn(usize) -> u64) {
        let costs = self.values[variable].iter().map(|&value| cost(value)).collect();
        self.add(Factor { variables: vec![variable], costs });
    }

    /// Only these values of a variable; `None` if none of them is left.
    pub(crate) fn only(mut self, variable: usize, may: impl Fn(usize) -> bool) -> Option<Rest> {
        let values = self.values[variable].iter().enumerate();
        let kept: Vec<usize> = values.filter(|&(_, &value)| may(value)).map(|(at, _)| at).collect();
        if kept.is_empty() {
            return None;
        }
        self.keep(variable, &kept);
        self.prune(self.around(variable).into_iter().collect());
        Some(self)
    }

    /// The cheapest choice of values, one per variable; `None` if there is none. Tables have at most `most` entries.
    pub(crate) fn cheapest(mut self, most: u64) -> Option<Choice> {
        self.work += self.factors.values().map(|factor| factor.costs.len() as u64).sum::<u64>();
        let (mut gone, mut cost) = (Vec::new(), 0u64);
        while let Some(&(entries, variable)) = self.order.first() {
            if entries > most {
                self.narrow(variable);
                continue;
            }
            let (last, left) = self.take(variable);
            gone.push(last);
            match left {
                Factor { variables, costs } if variables.is_empty() => cost = cost.saturating_add(costs[0]),
                left => self.add(left),
            }
            gone.iter().last().into_iter().flat_map(|last| &last.others).for_each(|(other, _)| self.measure(*other));
        }
        if cost >= NEVER {
            return None;
        }
        let mut values = vec![0; self.values.len()];
        for Gone { variable, others, best } in gone.iter().rev() {
            let place = |(other, left): &(usize, Vec<usize>)| left.binary_search(&values[*other]).unwrap_or(0);
            let at = others.iter().fold(0, |at, other| at * other.1.len() + place(other));
            values[*variable] = best[at];
        }
        Some(Choice { cost, values, work: self.work, exact: self.exact })
    }

    fn add(&mut self, factor: Factor) {
        for &variable in &factor.variables {
            self.of[variable].insert(self.next);
        }
        self.factors.insert(self.next, factor);
        self.next += 1;
    }

    /// The other variables of its tables.
    fn around(&self, variable: usize) -> Vec<usize> {
        let all = self.of[variable].iter().flat_map(|number| &self.factors[number].variables);
        let others: BTreeSet<usize> = all.copied().filter(|&other| other != variable).collect();
        others.into_iter().collect()
    }

    /// How many entries the table would have with which it would go, if it is not gone.
    fn measure(&mut self, variable: usize) {
        let Some(old) = self.entries[variable] else { return };
        self.order.remove(&(old, variable));
        let of = |&other: &usize| self.values[other].len() as u64;
        let entries = self.around(variable).iter().map(of).fold(of(&variable), u64::saturating_mul);
        self.entries[variable] = Some(entries);
        self.order.insert((entries, variable));
    }

    /// A variable and its tables go; the best of it for each choice of the others, and what that costs.
    fn take(&mut self, variable: usize) -> (Gone, Factor) {
        let others = self.around(variable);
        let numbers: Vec<usize> = self.of[variable].iter().copied().collect();
        let tables: Vec<Factor> = numbers.iter().filter_map(|number| self.factors.remove(number)).collect();
        for (number, table) in numbers.iter().zip(&tables) {
            for &other in &table.variables {
                self.of[other].remove(number);
            }
        }
        if let Some(entries) = self.entries[variable].take() {
            self.order.remove(&(entries, variable));
        }
        let sizes: Vec<usize> = others.iter().map(|&other| self.values[other].len()).collect();
        let (count, own) = (sizes.iter().product::<usize>(), self.values[variable].len());
        let tables: Vec<Lines> = tables.iter().map(|table| self.lines(table, variable, &others)).collect();
        let (mut costs, mut best) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut counters, mut at, mut sums) = (vec![0; sizes.len()], vec![0; tables.len()], vec![0u64; own]);
        for _ in 0..count {
            sums.fill(0);
            for (table, &at) in tables.iter().zip(&at) {
                // A sum of a few times NEVER does not wrap.
                sums.iter_mut().zip(&table.costs[at..at + own]).for_each(|(sum, cost)| *sum += cost);
            }
            let (value, least) = sums.iter().enumerate().min_by_key(|&(_, sum)| sum).unwrap_or((0, &NEVER));
            costs.push((*least).min(NEVER));
            best.push(self.values[variable][value]);
            // The last of the others counts fastest.
            for d in (0..sizes.len()).rev() {
                counters[d] += 1;
                let full = counters[d] == sizes[d];
                let back = if full { sizes[d] } else { 0 };
                for (at, table) in at.iter_mut().zip(&tables) {
                    *at = *at + table.steps[d] - back * table.steps[d];
                }
                if !full {
                    break;
                }
                counters[d] = 0;
            }
        }
        self.work += (count * own) as u64;
        let left = others.iter().map(|&other| (other, self.values[other].clone())).collect();
        (Gone { variable, others: left, best }, Factor { variables: others, costs })
    }

    /// A table that mentions a variable, with that variable last.
    fn lines(&self, table: &Factor, variable: usize, others: &[usize]) -> Lines {
        let size = |variable: &usize| self.values[*variable].len();
        let (own, step) = (size(&variable), self.step(table, variable));
        let costs = if step == 1 {
            table.costs.clone()
        } else {
            let block = |block: &[u64]| {
                (0..step)
                    .flat_map(|inner| block.iter().skip(inner).step_by(step).copied().collect::<Vec<u64>>())
                    .collect::<Vec<u64>>()
            };
            table.costs.chunks(own * step).flat_map(block).collect()
        };
        let left: Vec<usize> = table.variables.iter().copied().filter(|&known| known != variable).collect();
        let step = |other: &usize| {
            let at = left.iter().position(|known| known == other);
            at.map_or(0, |at| left[at + 1..].iter().map(size).product::<usize>() * own)
        };
        Lines { costs, steps: others.iter().map(step).collect() }
    }

    /// The least that each value of a variable costs in a table.
    fn least(&self, table: &Factor, variable: usize) -> Vec<u64> {
        let (size, step) = (self.values[variable].len(), self.step(table, variable));
        let mut least = vec![NEVER; size];
        for block in table.costs.chunks(size * step) {
            for (least, costs) in least.iter_mut().zip(block.chunks(step)) {
                *least = costs.iter().fold(*least, |least, &cost| least.min(cost));
            }
        }
        least
    }

    /// Entries of a table from one value of a variable to the next.
    fn step(&self, table: &Factor, variable: usize) -> usize {
        let at = table.variables.iter().position(|&known| known == variable).expect("it is one of its tables");
        table.variables[at + 1..].iter().map(|&other| self.values[other].len()).product()
    }

    /// Let the widest variable of a table that would be too large keep the better half of its values, by the least that each costs in its tables.
    fn narrow(&mut self, variable: usize) {
        self.exact = false;
        let all = self.around(variable).into_iter().chain([variable]);
        let widest = all.max_by_key(|&other| self.values[other].len()).unwrap_or(variable);
        let size = self.values[widest].len();
        let mut sums = vec![0u64; size];
        for number in &self.of[widest] {
            self.work += self.factors[number].costs.len() as u64;
            let least = self.least(&self.factors[number], widest);
            sums.iter_mut().zip(least).for_each(|(sum, cost)| *sum += cost);
        }
        let mut kept: Vec<usize> = (0..size).collect();
        kept.sort_by_key(|&value| (sums[value], value));
        kept.truncate(size.div_ceil(2));
        kept.sort_unstable();
        self.keep(widest, &kept);
    }

    /// Let a variable keep some of its values.
    fn keep(&mut self, variable: usize, kept: &[usize]) {
        let size = self.values[variable].len();
        for number in self.of[variable].clone() {
            let mut table = self.factors.remove(&number).expect("it is there");
            let step = self.step(&table, variable);
            let blocks = table.costs.chunks(size * step);
            table.costs = blocks
                .flat_map(|block| kept.iter().flat_map(move |&value| &block[value * step..][..step]))
                .copied()
                .collect();
            self.factors.insert(number, table);
        }
        self.values[variable] = kept.iter().map(|&value| self.values[variable][value]).collect();
        let around = self.around(variable);
        around.into_iter().chain([variable]).for_each(|other| self.measure(other));
    }

    /// Leave out values, first of some variables, that some table has for no choice of its other variables.
    fn prune(&mut self, mut open: BTreeSet<usize>) {
        while let Some(variable) = open.pop_first() {
            let size = self.values[variable].len();
            let mut possible = vec![true; size];
            for number in &self.of[variable] {
                let least = self.least(&self.factors[number], variable);
                possible.iter_mut().zip(least).for_each(|(possible, cost)| *possible &= cost < NEVER);
            }
            let kept: Vec<usize> = (0..size).filter(|&value| possible[value]).collect();
            if kept.len() < size && !kept.is_empty() {
                self.keep(variable, &kept);
                open.extend(self.around(variable));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Factor, MOST_ENTRIES, NEVER, Rest};
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    /// Tables over up to three of some variables; some entries are impossible.
    fn random(seed: u64) -> (Vec<usize>, Vec<Factor>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut below = |n: usize| (rng.next_u64() % n as u64) as usize;
        let sizes: Vec<usize> = (0..6).map(|_| 1 + below(4)).collect();
        let factors = (0..8).map(|_| {
            let mut variables: Vec<usize> = (0..=below(3)).map(|_| below(sizes.len())).collect();
            variables.dedup();
            variables.sort_unstable();
            variables.dedup();
            if below(2) == 0 {
                variables.reverse();
            }
            let entries = variables.iter().map(|&variable| sizes[variable]).product();
            let costs = (0..entries).map(|_| if below(5) == 0 { NEVER } else { below(100) as u64 }).collect();
            Factor { variables, costs }
        });
        let factors = factors.collect();
        (sizes, factors)
    }

    fn cost(sizes: &[usize], factors: &[Factor], values: &[usize]) -> u64 {
        let of = |factor: &Factor| {
            factor.costs[factor.variables.iter().fold(0, |at, &variable| at * sizes[variable] + values[variable])]
        };
        factors.iter().map(of).fold(0, |sum: u64, cost| (sum + cost).min(NEVER))
    }

    fn all(sizes: &[usize]) -> Vec<Vec<usize>> {
        sizes.iter().fold(vec![Vec::new()], |all, &size| {
            all.iter().flat_map(|values| (0..size).map(move |value| [values.as_slice(), &[value]].concat())).collect()
        })
    }

    #[test]
    fn it_finds_what_trying_all_finds() {
        let mut possible = 0;
        for seed in 0..300 {
            let (sizes, factors) = random(seed);
            let best =
                all(&sizes).iter().map(|values| cost(&sizes, &factors, values)).min().filter(|&best| best < NEVER);
            let found = Rest::new(&sizes, factors.clone()).cheapest(MOST_ENTRIES);
            assert_eq!(found.as_ref().map(|found| found.cost), best, "{seed}");
            if let Some(Choice { cost: least, values, exact, .. }) = found {
                assert_eq!(cost(&sizes, &factors, &values), least, "{seed}");
                assert!(exact);
                possible += 1;
            }
            // With small tables it is no better, and says so.
            if let Some(found) = Rest::new(&sizes, factors.clone()).cheapest(8) {
                assert_eq!(cost(&sizes, &factors, &found.values), found.cost, "{seed}");
                assert!(
                    best.is_some_and(|best| if found.exact { found.cost == best } else { found.cost >= best }),
                    "{seed}"
                );
            }
        }
        assert!(possible > 50, "{possible}");
    }

    #[test]
    fn a_chain_takes_work_in_its_length() {
        let work = |length: usize| {
            let costs = (0..144).map(|n| n * 7919 % 101).collect::<Vec<u64>>();
            let factors = (1..length).map(|n| Factor { variables: vec![n - 1, n], costs: costs.clone() }).collect();
            Rest::new(&vec![12; length], factors).cheapest(MOST_ENTRIES).expect("it is possible").work
        };
        assert!(work(512) as f64 <= 2.2 * work(256) as f64);
    }
}
