//! Outputs of several lanes, where as many rows of the grid send at once: the number of beats, and their words.

use arch::machine::{Machine, MachineSpec};
use arch::{Image, image::Feed};
use compiler::canonical::{Batch, Keep, Options, canonicalise};
use compiler::fixed::{self, Numbers};
use compiler::language::{self, Language};
use compiler::ranges::Ranges;
use compiler::search::compile_elsewhere;

/// A program of TABLA whose result is `C`, on a grid, in all placements: its images.
fn images(text: &str, pus: u32, pes_per_pu: u32, output_words: u32) -> Vec<Image> {
    emitted(text, pus, pes_per_pu, output_words, 0)
}

/// The same with so many words for each emitting beat.
fn emitted(text: &str, pus: u32, pes_per_pu: u32, output_words: u32, emit_words: u32) -> Vec<Image> {
    let (program, _) = language::parse(Language::Tabla, text, &language::Options::default()).expect("it is a program");
    let keep = Keep::Prediction { names: vec!["C".to_owned()], states: Vec::new() };
    let program = canonicalise(&program, &Options { keep, batch: Batch::SINGLE }).expect("it is one for the array");
    let spec = MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        output_words: Some(output_words),
        emit_words: Some(emit_words),
        ..MachineSpec::default()
    };
    let machine = Machine::try_from(spec).expect("a grid");
    let ranges = Ranges::of_tensors(vec![Some((-4.0, 4.0)); program.tensors.len()]);
    let (words, _) = fixed::lower(&program, &ranges, &Numbers::of_machine(&machine)).expect("it has binary points");
    (0..60).filter_map(|number| compile_elsewhere(&words, &machine, number).ok()).map(|it| it.image).collect()
}

/// How often each element leaves, and in how many beats.
fn sent(image: &Image) -> (Vec<u32>, u64) {
    let tensor = &image.tensors[image.step_out[0].tensor];
    let mut times = vec![0; tensor.elements()];
    for feed in &image.step_out {
        feed.for_each_beat(|counters| {
            // Lanes that carry the same element count once.
            let carried = feed.beat(&tensor.shape, counters);
            let mut elements: Vec<usize> =
                (0..image.machine.output_words()).filter_map(|lane| carried.element(lane)).collect();
            elements.dedup();
            for element in elements {
                times[element] += 1;
            }
        });
    }
    (times, image.step_out.iter().map(Feed::beats).sum())
}

const OUTER: &str =
    "model_input a[16], b[12]; model_output C[16][12]; iterator i[0:16]; iterator j[0:12]; C[i][j] = a[i] * b[j];";

/// Wherever the 192 products lie, each leaves once; where they lie on rows, in as many beats as the rows take that send at once.
#[test]
fn each_element_leaves_once() {
    for (lanes, fewest) in [(1, 192), (2, 96), (4, 48)] {
        let images = images(OUTER, 4, 3, lanes);
        assert!(images.len() >= 4, "{} placements", images.len());
        let beats: Vec<u64> = images
            .iter()
            .map(|image| {
                let (times, beats) = sent(image);
                assert!(times.iter().all(|&times| times == 1), "{lanes} lanes: {times:?}");
                beats
            })
            .collect();
        assert_eq!(beats.iter().min(), Some(&fewest), "{lanes} lanes");
    }
}

/// By hand: 10 elements on 4 rows by 2 columns. On rows they are two rows of four and one of two: 3 beats with four lanes, 5 with two. Nothing is better:
/// 10 words need 3 beats of 4 and 5 of 2.
#[test]
fn the_last_row_may_be_short() {
    let text = "model_input a[10]; model_output C[10]; iterator i[0:10]; C[i] = a[i] * a[i];";
    for (lanes, fewest) in [(1, 10), (2, 5), (4, 3)] {
        let images = images(text, 4, 2, lanes);
        let beats = images.iter().map(|image| {
            let (times, beats) = sent(image);
            assert!(times.iter().all(|&times| times == 1), "{lanes} lanes: {times:?}");
            beats
        });
        assert_eq!(beats.min(), Some(fewest), "{lanes} lanes");
    }
}

/// Beats of the alu stream that emit.
fn emitting(image: &Image) -> u64 {
    let emits = image.alu.iter().filter(|alu| alu.emit);
    emits.map(|alu| alu.counts.iter().map(|&count| u64::from(count)).product::<u64>()).sum()
}

/// A beat takes a word of each of four rows, or of each of eight PEs, and leaves in as many transfers as it has words for. By hand: 192 products
/// are 48 beats of four rows and 24 of eight PEs, in 192 transfers of one word and 96 of two.
#[test]
fn a_beat_may_leave_in_several_transfers() {
    let outer = OUTER.replace("12", "24").replace("[16]", "[8]").replace("0:16", "0:8");
    for (words, emit, beats, transfers) in
        [(1, 4, 48, 192), (2, 4, 48, 96), (1, 8, 24, 192), (2, 8, 24, 96), (4, 8, 24, 48)]
    {
        let images = emitted(&outer, 4, 2, words, emit);
        assert!(images.len() >= 4, "{} placements", images.len());
        for image in &images {
            let (times, _) = sent(image);
            assert!(times.iter().all(|&times| times == 1), "{words} of {emit}: {times:?}");
        }
        assert_eq!(images.iter().map(emitting).min(), Some(beats), "{words} of {emit}");
        assert_eq!(images.iter().map(|image| sent(image).1).min(), Some(transfers), "{words} of {emit}");
    }
}

/// By hand: 11 elements on 4 rows by 2 columns, in transfers of two words. On rows they are three beats of two transfers, the last of which has
/// three elements. Where each PE has a lane, they are two beats of PEs; rows still take six transfers, as many as 11 words need. What lies on columns
/// alone leaves as copies, from each two rows.
#[test]
fn transfers_that_carry_nothing_do_not_leave() {
    let text = "model_input a[11]; model_output C[11]; iterator i[0:11]; C[i] = a[i] * a[i];";
    for (emit, beats, copies) in [(4, 3, 1), (8, 2, 2)] {
        let images = emitted(text, 4, 2, 2, emit);
        for image in &images {
            let (times, _) = sent(image);
            assert!(times.iter().all(|times| (1..=copies).contains(times)), "{emit}: {times:?}");
        }
        assert_eq!(images.iter().map(emitting).min(), Some(beats), "{emit}");
        assert_eq!(images.iter().map(|image| sent(image).1).min(), Some(6), "{emit}");
    }
}
