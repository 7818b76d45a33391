//! Conversions: a copy from any layout to any other that the buses can take puts each word where it belongs, in the beats of its cost.
//!
//! The jobs are played beat by beat on pads that hold numbers of elements; where an element lies follows from the definition of the axes alone.

use super::job::{Access, Job, Sink};
use super::lanes::{Extent, Lanes};
use super::{levels, reshard, select};
use crate::fixed;
use crate::placed::carries::copying;
use crate::placed::cost::Cost;
use crate::placed::{self, Axis};
use crate::tensor::TensorId;
use arch::Origin;
use arch::machine::{Machine, MachineSpec};
use arch::timing::{self, Unit};
use std::collections::{BTreeMap, BTreeSet};

const SHAPE: [u32; 2] = [8, 12];

/// Rows and columns of a PE.
type Place = (u32, u32);

/// Words of a tensor in all PEs: which element is at an address.
type Words = BTreeMap<(Place, i64), u32>;

/// Where the words of a tensor are that lies on these axes.
fn words(axes: &[Axis], machine: &Machine) -> Words {
    let (rows, columns) = (machine.pus(), machine.pes_per_pu());
    let everywhere = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let mut all = Words::new();
    for (i, j, place) in
        everywhere.flat_map(|place| (0..SHAPE[0]).flat_map(move |i| (0..SHAPE[1]).map(move |j| (i, j, place))))
    {
        let own = |axis: Axis, index: u32| match axis {
            Axis::Local => true,
            Axis::Row => index % rows == place.0,
            Axis::Column => index % columns == place.1,
            Axis::Grid => index % (rows * columns) == place.0 * columns + place.1,
            Axis::Tall => index % (rows * columns) == place.1 * rows + place.0,
        };
        if own(axes[0], i) && own(axes[1], j) {
            let lanes = axes[1].lanes(machine);
            let address = i / axes[0].lanes(machine) * SHAPE[1].div_ceil(lanes) + j / lanes;
            all.insert((place, i64::from(address)), i * SHAPE[1] + j);
        }
    }
    all
}

fn address(access: &Access, beat: &[u32]) -> i64 {
    access.offset + access.strides.iter().zip(beat).map(|(stride, &at)| stride * i64::from(at)).sum::<i64>()
}

fn takes_part([rows, columns, pes]: Extent, (row, column): Place, machine: &Machine) -> bool {
    let number = row * machine.pes_per_pu() + column;
    let within = |(low, high): (u32, u32), at: u32| low <= at && at < high;
    within(rows, row) && within(columns, column) && within(pes, number)
}

/// All beats of a job, outermost loop first.
fn beats(job: &Job) -> Vec<Vec<u32>> {
    job.loops.iter().fold(vec![Vec::new()], |beats, &count| {
        beats.iter().flat_map(|beat| (0..count).map(move |at| [beat.as_slice(), &[at]].concat())).collect()
    })
}

/// What a job writes.
fn play(job: &Job, from: &Words, to: &mut Words, machine: &Machine) {
    let places: Vec<Place> =
        (0..machine.pus()).flat_map(|row| (0..machine.pes_per_pu()).map(move |column| (row, column))).collect();
    let read = job.a.as_ref().expect("a copy reads");
    for beat in beats(job) {
        let extent = |lanes: &Lanes| lanes.extent(&beat, &job.loops, machine);
        let sends = |place: Place| {
            let word = takes_part(extent(&job.lanes), place, machine).then(|| from.get(&(place, address(read, &beat))));
            word.flatten().copied()
        };
        let (write, lanes, unit) = match &job.sink {
            Sink::Pad(write) => (write, &job.lanes, None),
            Sink::Tree { write, lanes, unit, walk: None, .. } => (write, lanes, Some(*unit)),
            _ => panic!("not the job of a copy"),
        };
        let sent = |hears: &dyn Fn(Place) -> bool| -> Option<u32> {
            let words: Vec<u32> =
                places.iter().filter(|&&place| hears(place)).filter_map(|&place| sends(place)).collect();
            assert!(words.len() <= 1, "two words are added: {job:?}");
            words.first().copied()
        };
        for &place in places.iter().filter(|&&place| takes_part(extent(lanes), place, machine)) {
            let buses = machine.column_bus_count();
            let word = match unit {
                None => sends(place),
                Some(Unit::Row) => sent(&|(row, _)| row == place.0),
                Some(Unit::Global) => sent(&|_| true),
                Some(Unit::Across) => sent(&|(row, _)| row % buses == place.1 % buses),
            };
            if let Some(word) = word {
                to.insert((place, address(write, &beat)), word);
            }
        }
    }
}

/// Cycles of a copy beside its beats.
fn latency(job: &Job, machine: &Machine) -> u64 {
    match &job.sink {
        Sink::Tree { unit, .. } => {
            timing::alu_to_root(machine, *unit) + timing::root_to_move(*unit, false) + timing::move_to_alu(machine)
        }
        _ => timing::alu_to_alu(machine),
    }
}

fn layouts() -> Vec<Vec<Axis>> {
    let pairs = Axis::EVERY.iter().flat_map(|&first| Axis::EVERY.iter().map(move |&second| (first, second)));
    pairs.filter(|(first, second)| first.agrees_with(*second)).map(|(first, second)| vec![first, second]).collect()
}

#[test]
fn each_word_arrives_in_the_beats_of_the_cost() {
    let text = "word 16\naccumulator 48\ninput x[8][12]: q8\ntemporary t[8][12]: q8\n\n\
                t[i][j] = round(+ x[i][j] * 256:q8) >> 8  for i in 0..8, j in 0..12\n";
    let mut program: fixed::Program = text.parse().expect("a good text");
    let elements = SHAPE.map(|extent| (0, i64::from(extent))).to_vec();
    program.operations = vec![copying(TensorId(0), TensorId(1), elements, Origin::default())];
    let mut ways: BTreeSet<String> = BTreeSet::new();
    for (rows, columns, column_buses) in [(4, 4, true), (4, 4, false), (2, 4, true), (4, 2, true), (2, 2, false)] {
        let spec = MachineSpec {
            pus: Some(rows),
            pes_per_pu: Some(columns),
            column_buses: Some(column_buses),
            ..MachineSpec::default()
        };
        let machine = Machine::try_from(spec).expect("a machine");
        for (from, to) in layouts().iter().flat_map(|from| layouts().into_iter().map(move |to| (from.clone(), to))) {
            let Some(cost) = Cost::of_operation(&program, &program.operations[0], &from, &to, &machine, false) else {
                continue;
            };
            let placed = placed::Program {
                fixed: program.clone(),
                tensors: vec![from.clone(), to.clone()],
                iterators: vec![from.clone()],
                pieces: vec![None, None],
                tile: None,
            };
            let jobs = reshard::expand(&select::select(&placed, &machine), &machine);
            let jobs = levels::fit(&jobs, &machine).expect("nothing is summed").jobs;
            let (held, mut written) = (words(&from, &machine), Words::new());
            for job in &jobs {
                play(job, &held, &mut written, &machine);
            }
            let what = format!("{from:?} to {to:?} on {rows} x {columns}, buses of the columns: {column_buses}");
            for (at, element) in words(&to, &machine) {
                assert_eq!(written.get(&at), Some(&element), "{what}: {at:?}");
            }
            let beats: u64 = jobs.iter().map(Job::beats).sum();
            assert_eq!(beats + latency(&jobs[0], &machine), cost.compute, "{what}");
            ways.insert(format!("{from:?} {to:?}"));
        }
    }
    // Rows and columns change places, too.
    assert!(ways.contains("[Row, Column] [Column, Row]") && ways.len() > 40, "{} ways: {ways:?}", ways.len());
}
