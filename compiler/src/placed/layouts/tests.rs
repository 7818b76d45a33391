//! Random programs of four operations: the layouts that are chosen cost what the cheapest of all layouts cost.

use super::eliminate::{MOST_ENTRIES, NEVER};
use super::{Graph, Layout, Lies, PART};
use crate::fixed::{self, Operation};
use crate::optimisations::Disabled;
use crate::placed::axis::Axis;
use crate::placed::cost::{Cost, local_words};
use arch::machine::{Machine, MachineSpec};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

fn machine(pus: u32, pes_per_pu: u32) -> Machine {
    let spec = MachineSpec { pus: Some(pus), pes_per_pu: Some(pes_per_pu), ..MachineSpec::default() };
    Machine::try_from(spec).expect("a machine")
}

/// Four operations, each on what was computed before: products of matrices and vectors, sums of vectors, vectors times weights.
fn random(seed: u64) -> fixed::Program {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |n: usize| (rng.next_u64() % n as u64) as usize;
    let mut vectors = vec![("x".to_owned(), 8)];
    let (mut tensors, mut operations) = ("input x[8]: q8\n".to_owned(), String::new());
    for n in 0..4 {
        let (from, extent) = vectors[below(vectors.len())].clone();
        let same: Vec<&(String, usize)> = vectors.iter().filter(|other| other.1 == extent).collect();
        let (other, _) = same[below(same.len())];
        let mut size = extent;
        match below(3) {
            0 => {
                size = [4, 8, 12, 32][below(4)];
                tensors += &format!("state w{n}[{size}][{extent}]: q8\n");
                operations += &format!(
                    "t{n}[q] = round(+ w{n}[q][i] * {from}[i]) >> 8  for q in 0..{size}  over i in 0..{extent}\n"
                );
            }
            1 => {
                operations +=
                    &format!("t{n}[q] = round({from}[q] << 8 + {other}[q] * 256:q8) >> 8  for q in 0..{extent}\n");
            }
            _ => {
                tensors += &format!("state w{n}[{extent}]: q8\n");
                operations += &format!("t{n}[q] = round(+ w{n}[q] * {from}[q]) >> 8  for q in 0..{extent}\n");
            }
        }
        let role = if n == 3 { "output" } else { "temporary" };
        tensors += &format!("{role} t{n}[{size}]: q8\n");
        vectors.push((format!("t{n}"), size));
    }
    format!("word 16\naccumulator 48\n{tensors}\n{operations}").parse().expect("a good text")
}

/// What an operation reads.
fn reads(operation: &Operation) -> Vec<(usize, Vec<usize>)> {
    let mut all = Vec::new();
    fixed::for_each_access(operation, |tensor, index, written| {
        if !written {
            all.push((tensor.0, index.iter().map(|form| form.as_iterator().expect("plain").0).collect()));
        }
    });
    all
}

/// The least that the program costs with words at a price, over all layouts of all its tensors: weights, which one operation reads, by themselves.
fn cheapest(graph: &Graph<'_>, price: u64) -> u64 {
    let Graph { program, machine, disabled, tensors, operations, .. } = graph;
    let of_tensor = |number: usize, lies: &Lies| {
        let tensor = &program.tensors[number];
        let home = Cost::of_tensor(tensor, &lies.home, machine, *disabled);
        let (words, cycles) =
            lies.copy.as_ref().map_or((0, 0), |(copy, cycles)| (local_words(&tensor.shape, copy, machine), *cycles));
        (cycles + home.emit) * PART + (home.load + home.leave) * (PART / 16) + (home.words + words) * price
    };
    let vectors: Vec<usize> = (0..tensors.len()).filter(|&n| !program.tensors[n].name.starts_with('w')).collect();
    let mut all: Vec<Vec<Lies>> = vec![Vec::new()];
    for &number in &vectors {
        all = all
            .iter()
            .flat_map(|known| {
                tensors[number].iter().map(move |own| [known.as_slice(), std::slice::from_ref(own)].concat())
            })
            .collect();
    }
    let cost = |lies: &Vec<Lies>| {
        let of = |number: usize| vectors.iter().position(|&vector| vector == number).map(|at| &lies[at]);
        let mut sum: u64 = vectors.iter().zip(lies).map(|(&number, axes)| of_tensor(number, axes)).sum();
        for (operation, layouts) in program.operations.iter().zip(operations) {
            let reads = reads(operation);
            let one = |axes: &Layout| {
                let out = of(operation.out.0).expect("a vector");
                let mut cost = Cost::of_operation(program, operation, axes, &out.home, machine, false)?.compute * PART;
                for (tensor, index) in &reads {
                    let wanted: Layout = index.iter().map(|&iterator| axes[iterator]).collect();
                    match of(*tensor) {
                        Some(lies) => {
                            let there =
                                lies.home == wanted || lies.copy.as_ref().is_some_and(|(copy, _)| *copy == wanted);
                            there.then_some(())?;
                        }
                        None => cost += of_tensor(*tensor, &Lies { home: wanted, copy: None }),
                    }
                }
                Some(cost)
            };
            sum += layouts.iter().filter_map(one).min().unwrap_or(NEVER);
            if sum >= NEVER {
                return NEVER;
            }
        }
        sum
    };
    all.iter().map(cost).min().expect("there is one")
}

#[test]
fn layouts_are_the_cheapest_of_all() {
    for seed in 0..24 {
        let program = random(seed);
        for (pus, pes_per_pu) in [(4, 4), (2, 8)] {
            let machine = machine(pus, pes_per_pu);
            let graph = Graph::of(&program, &machine, &Axis::ALL, Disabled::NOTHING, (false, false));
            for price in [1, 4 * PART] {
                let found = graph.cheapest(price, MOST_ENTRIES).expect("inside each PE it is possible");
                assert!(found.exact, "{seed}");
                let inside = graph.placement(&graph.inside());
                assert!(inside.tensors.iter().chain(&inside.iterators).flatten().all(|axis| *axis == Axis::Local));
                assert_eq!(
                    found.cost,
                    cheapest(&graph, price),
                    "{seed} on {pus} x {pes_per_pu} at {price}:\n{program}"
                );
            }
        }
    }
}

/// Dense layers, each followed by a rectifier.
fn chain(layers: usize) -> fixed::Program {
    let (mut tensors, mut operations) = ("input t0[64]: q8\n".to_owned(), String::new());
    for n in 1..=layers {
        let role = if n == layers { "output" } else { "temporary" };
        tensors += &format!("state w{n}[64][64]: q8\ntemporary s{n}[64]: q8\n{role} t{n}[64]: q8\n");
        operations += &format!("s{n}[q] = round(+ w{n}[q][i] * t{}[i]) >> 8  for q in 0..64  over i in 0..64\n", n - 1);
        operations += &format!("t{n}[q] = round(0:q8 << 8 max s{n}[q] * 256:q8) >> 8  for q in 0..64\n");
    }
    format!("word 16\naccumulator 48\n{tensors}\n{operations}").parse().expect("a good text")
}

/// Twice the layers take twice the work, and no more cycles for each of them.
#[test]
fn work_and_cycles_grow_with_the_layers() {
    let machine = machine(8, 8);
    let of = |layers: usize| {
        let program = chain(layers);
        let graph = Graph::of(&program, &machine, &Axis::ALL, Disabled::NOTHING, (false, false));
        let choice = graph.cheapest(1, MOST_ENTRIES).expect("it is possible");
        assert!(choice.exact);
        (choice.work, graph.placement(&choice.values).cost.compute)
    };
    let mut before = of(8);
    for layers in [16, 32, 64, 128] {
        let (work, cycles) = of(layers);
        assert!(work as f64 <= 2.2 * before.0 as f64, "{layers} layers: {work} after {}", before.0);
        assert!(cycles as f64 <= 2.05 * before.1 as f64, "{layers} layers: {cycles} after {}", before.1);
        // 64 products of each PE and layer, a rectifier, and the ways through the trees.
        assert!(cycles <= 100 * layers as u64, "{layers} layers: {cycles}");
        before = (work, cycles);
    }
}
