//! Segments: random programs, cut at random into operations and blocks of them. The program as a whole is the judge: [`Fixed`] runs it, and knows nothing
//! of segments.

use crate::generator::{ir, steps, tape, trial};
use arch::{Image, Machine};
use compiler::canonical::{Batch, Keep, Options};
use compiler::fixed::segments::{Cycles, Part, Segment, check, cut};
use compiler::fixed::{Numbers, Program, Role, state_between_records};
use compiler::search;
use compiler::tensor::TensorId;
use proptest::prelude::*;
use sim::array::Array;
use sim::fixed::Fixed;
use sim::grid::Stalls;
use sim::ladder::Upper;
use sim::segments::{All, run};

/// A function in fixed point, and the words of its tensors before and after a step.
struct Case {
    program: Program,
    before: All,
    after: All,
}

fn words(fixed: &Fixed) -> All {
    (0..fixed.program().tensors.len()).map(|id| fixed.words(TensorId(id))).collect()
}

fn case(number: u64, machine: &Machine) -> Option<Case> {
    let tape = tape::random(37, number, 40 + (number * 7 % 200) as usize);
    let (program, model, samples) = ir::program(&tape);
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let upper = Upper::new(&program, &options, &model, &steps(&samples, 1), &Numbers::of_machine(machine)).ok()?;
    let program = upper.fixed;
    if state_between_records(&program).is_some() || program.operations.is_empty() {
        return None;
    }
    let mut fixed = Fixed::new(&program);
    for (name, values) in model.iter().chain(&samples[0]) {
        if let Some(tensor) = fixed.tensor(name) {
            fixed.set_real(tensor, values);
        }
    }
    let before = words(&fixed);
    fixed.step();
    Some(Case { program, before, after: words(&fixed) })
}

/// Segments of so many operations and words of results at most; what `fits` gives for each.
fn limited<T>(
    program: &Program,
    (operations, results): (usize, u64),
    mut fits: impl FnMut(&Program) -> Option<T>,
) -> Option<Vec<(Segment, T)>> {
    let mut within = |_: &[(Segment, T)], segment: &Segment| {
        let few = segment.parts.len() <= operations && segment.program.words(|role| *role == Role::Output) <= results;
        // All take as long, and some much longer than they had to.
        let cycles = Cycles { taken: 100, least: 10 * segment.parts.len() as u64 };
        few.then(|| fits(&segment.program)).flatten().map(|found| (found, cycles)).ok_or(())
    };
    cut(program, &mut within).ok()
}

/// Run segments in fixed point.
fn in_fixed(case: &Case, segments: &[Segment]) -> All {
    let mut all = case.before.clone();
    for segment in segments {
        let mut fixed = Fixed::new(&segment.program);
        for (number, tensor) in segment.program.tensors.iter().enumerate() {
            if matches!(tensor.role, Role::Input | Role::State) {
                let words = segment.words_of(&case.program, number, &all[segment.places[number].0.0]);
                fixed.set(TensorId(number), &words);
            }
        }
        fixed.step();
        for (number, _) in segment.program.tensors.iter().enumerate().filter(|(_, tensor)| tensor.role == Role::Output)
        {
            let words = fixed.words(TensorId(number));
            segment.put(&case.program, number, &words, &mut all[segment.places[number].0.0]);
        }
    }
    all
}

fn results(program: &Program) -> impl Iterator<Item = (usize, &str)> {
    let all = program.tensors.iter().enumerate();
    all.filter(|(_, tensor)| tensor.role == Role::Output).map(|(id, tensor)| (id, tensor.name.as_str()))
}

/// The same function in as few segments as its operations allow, and where long segments take much longer than short ones.
#[test]
fn what_is_slow_is_cut_into_less() {
    let machine = Machine::try_from(trial::hardware(2, 3, 16)).unwrap();
    let mut more = 0;
    for case in (0..60).filter_map(|number| case(number, &machine)) {
        let segments = |power: u32| {
            let mut fits = |_: &[(Segment, ())], segment: &Segment| {
                let points =
                    segment.parts.iter().map(|part| part.loops.iter().map(|l| l.end - l.start).product::<i64>());
                let points = points.sum::<i64>() as u64;
                let few = segment.parts.len() < case.program.operations.len();
                few.then_some(((), Cycles { taken: points.pow(power), least: points })).ok_or(())
            };
            cut(&case.program, &mut fits).ok().map(|segments| segments.len())
        };
        if let (Some(few), Some(many)) = (segments(1), segments(2)) {
            assert!(few <= many, "{few} and {many} segments of\n{}", case.program);
            more += usize::from(few < many);
        }
    }
    assert!(more >= 20, "only {more} functions");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn words_do_not_depend_on_where_a_function_is_cut(number in 0..4000u64, operations in 1..6usize, results_of_a_segment in 1..40u64) {
        let machine = Machine::try_from(trial::hardware(2, 3, 16)).unwrap();
        let Some(case) = case(number, &machine) else { return Ok(()) };
        let limits = (operations, results_of_a_segment);
        let Some(segments) = limited(&case.program, limits, |_| Some(())) else { return Ok(()) };
        let segments: Vec<Segment> = segments.into_iter().map(|(segment, ())| segment).collect();
        for segment in &segments {
            compiler::fixed::verify(&segment.program);
        }
        prop_assert_eq!(check(&case.program, &segments), Ok(()));
        let found = in_fixed(&case, &segments);
        for (id, name) in results(&case.program) {
            prop_assert_eq!(&found[id], &case.after[id], "{} of {} segments of\n{}", name, segments.len(), case.program);
        }
    }

    #[test]
    fn the_array_runs_segments(number in 0..4000u64, operations in 1..6usize, results_of_a_segment in 4..40u64) {
        let machine = Machine::try_from(trial::hardware(2, 3, 16)).unwrap();
        let Some(case) = case(number, &machine) else { return Ok(()) };
        let image = |program: &Program| Some(search::compile(program, &machine).ok()?.image);
        let Some(segments) = limited(&case.program, (operations, results_of_a_segment), image) else { return Ok(()) };
        let segments: Vec<(&Segment, &Image)> = segments.iter().map(|(segment, image)| (segment, image)).collect();
        let steps = vec![case.before.clone(), case.before.clone()];
        let ran = run(Array::new(&machine), &case.program, &segments, steps, Stalls::seeded(number, 30, 30)).unwrap();
        for found in &ran.steps {
            for (id, name) in results(&case.program) {
                prop_assert_eq!(&found[id], &case.after[id], "{} of\n{}", name, case.program);
            }
        }
    }
}

/// Cuts are no exception, or nothing above is tried.
#[test]
fn most_functions_are_cut() {
    let machine = Machine::try_from(trial::hardware(2, 3, 16)).unwrap();
    let cases: Vec<Case> = (0..100).filter_map(|number| case(number, &machine)).collect();
    let several = |case: &&Case| limited(&case.program, (3, 12), |_| Some(())).is_some_and(|cut| cut.len() > 1);
    let cut = cases.iter().filter(several).count();
    assert!(cases.len() > 40 && 2 * cut > cases.len(), "{cut} of {}", cases.len());
}

/// Each law, broken once.
#[test]
fn wrong_segments_are_found() {
    let machine = Machine::try_from(trial::hardware(2, 3, 16)).unwrap();
    let whole = |program: &Program, part: &Part| *part == Part::whole(program, part.operation);
    let in_blocks = |case: &Case| {
        let segments = limited(&case.program, (2, 6), |_| Some(()))?;
        let segments: Vec<Segment> = segments.into_iter().map(|(segment, ())| segment).collect();
        let divided = segments.iter().any(|segment| !segment.parts.iter().all(|part| whole(&case.program, part)));
        let indexed = segments.first().is_some_and(|first| !first.program.operations[0].out_index.is_empty());
        (divided && indexed && segments.len() > 3).then_some(segments)
    };
    let mut found =
        (0..4000).filter_map(|number| case(number, &machine)).filter_map(|case| Some((in_blocks(&case)?, case)));
    let (segments, Case { program, .. }) = found.next().expect("some program is cut into blocks");
    assert_eq!(check(&program, &segments), Ok(()));
    let broken = |breaks: &dyn Fn(&mut Vec<Segment>)| {
        let mut segments = segments.clone();
        breaks(&mut segments);
        check(&program, &segments).expect_err("a law is broken")
    };
    let is = |why: String, law: &str| assert!(why.contains(law), "{law}: {why}");
    is(broken(&|segments| drop(segments.pop())), "law 1");
    is(broken(&|segments| segments.push(segments[0].clone())), "law 1");
    is(broken(&|segments| segments.reverse()), "law 1");
    is(broken(&|segments| segments[0].program.tensors[0].fraction += 1), "law 2");
    is(broken(&|segments| segments[0].program.operations[0].out_index[0].offset += 1), "law 2");
    is(broken(&|segments| segments[0].program.operations[0].iterators[0].high += 1), "law 2");
    let kept = |segment: &mut Segment| {
        let out = segment.program.operations.last().unwrap().out;
        segment.program.tensors[out.0].role = Role::Temporary;
    };
    is(broken(&|segments| kept(&mut segments[0])), "law 3");
}
