//! Proofs: what is wrong is refuted, with its instruction. What is right is proven where it climbs the ladder: in `ladder`,
//! `ladder_languages`, `ladder_random`, `tiles` and `benchmarks`.

mod faults;

use crate::made_up;
use arch::Image;
use arch::isa::{AluInstruction, Finish, UNLIMITED};
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::fixed::{self, Kind, SumBound};
use compiler::language::{self, Language};
use faults::{Fault, plant};
use sim::array::Array;
use sim::eval::with_shapes_of;
use sim::grid::Stalls;
use sim::ladder::Climb;
use sim::prove::{Cause, Difference, Verdict, Work, prove, prove_within};
use std::collections::BTreeMap;
use std::path::Path;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs")
}

fn climb(language: Language, text: &str, spec: &MachineSpec, batch: u32) -> Climb {
    let shapes = serde_json::json!({ "X": vec![0; 6], "W": vec![0; 6] });
    let options = with_shapes_of(&shapes, language::Options::default());
    let (program, _) = language::parse(language, text, &options).unwrap();
    let (model, steps) = made_up::values(&program, batch, 2);
    let batch = Batch { size: batch, reduction: Reduction::Mean };
    let training = language == Language::Tabla;
    let keep = if training { Keep::Training { predictions: vec![] } } else { Keep::AllNames };
    let options = Options { keep, batch };
    Climb::new(&program, &options, &model, &steps, spec).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn grid(pus: u32, pes_per_pu: u32) -> MachineSpec {
    MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        divider: Some(true),
        extremes: Some(true),
        squares: Some(true),
        rectifiers: Some(pes_per_pu.is_multiple_of(2)),
        limits: Some(pes_per_pu.is_multiple_of(2)),
        ..MachineSpec::default()
    }
}

/// Images with all that images have: trees, functions, quotients, extremes, squares, a batch in tiles, the scalar unit.
fn subjects() -> Vec<(&'static str, Climb)> {
    let published = |file: &str| std::fs::read_to_string(folder().join(file)).unwrap();
    let tabla = |file: &str, spec, batch| climb(Language::Tabla, &published(file), spec, batch);
    let extremes = "def f(float(N) X, float(N) W) -> (m, Q, S) {\n  m max=! X(i) * W(i)\n  Q(i) = X(i) / (m + 3.0)\n  \
                    S(i) = exp(Q(i) - m) * W(i)\n}";
    let squares = "def f(float(N) X, float(N) W) -> (S, m) {\n  S +=! (X(i) - W(i)) * (X(i) - W(i))\n  \
                   m max=! (X(i) - 0.25) * (X(i) - 0.25)\n}";
    vec![
        ("logistic", tabla("logistic.t", &grid(2, 4), 1)),
        ("backpropagation", tabla("backpropagation.t", &grid(2, 4), 1)),
        ("recommender", tabla("recommender.t", &grid(1, 3), 1)),
        ("extremes", climb(Language::TensorComprehensions, extremes, &grid(2, 2), 1)),
        ("squares", climb(Language::TensorComprehensions, squares, &grid(2, 2), 1)),
        ("tiles", tabla("linear.t", &MachineSpec { data_depth: Some(16), ..grid(2, 4) }, 12)),
    ]
}

/// Whether a report names an instruction.
fn names(difference: &Difference, at: (&str, usize)) -> bool {
    let operands = difference.operands.iter().flat_map(|operand| &operand.made_by);
    let all = difference.instructions.iter().chain(operands).chain(&difference.sender);
    all.into_iter().any(|place| (place.stream, place.number) == at)
}

#[test]
fn planted_faults_are_refuted() {
    let mut refuted: BTreeMap<Fault, usize> = BTreeMap::new();
    let (mut harmless, mut named, mut complaints) = (0, 0, Vec::new());
    for (name, climb) in subjects() {
        climb.prove().unwrap_or_else(|why| panic!("{name}: {why}"));
        let right = prove_within(&climb.fixed, climb.image(), "", BY_RESIDUES);
        assert!(matches!(right, Verdict::Sampled(sample) if sample.words == sample.of), "{name}: {right}");
        assert!(name != "tiles" || climb.image().tiles > 1, "it has tiles");
        let faults = Fault::ALL.into_iter().flat_map(|fault| plant(climb.image(), fault));
        for (number, planted) in faults.enumerate() {
            let what = format!("{name}, {:?} of {} {}", planted.fault, planted.at.0, planted.at.1);
            let verdict = prove(&climb.fixed, &planted.image, "", 2, &mut |_, _| true);
            // Residues see what terms see: one fault in three, since terms are asked once more.
            if number % 3 == 0 {
                let quick = prove_within(&climb.fixed, &planted.image, "", BY_RESIDUES);
                let seen = !matches!(quick, Verdict::Sampled(_));
                assert_eq!(seen, !matches!(verdict, Verdict::Proven(_)), "{what}: {quick}");
            }
            match &verdict {
                // What makes no difference to the array, either, may be proven.
                Verdict::Proven(_) => {
                    let mut own = climb.clone();
                    own.compiled.image = planted.image.clone();
                    let agrees = own.run(Array::new(&planted.image.machine), Stalls::none());
                    assert!(agrees.is_ok(), "{what} is proven: {}", agrees.unwrap_err());
                    harmless += 1;
                }
                Verdict::Refuted(difference) => {
                    *refuted.entry(planted.fault).or_default() += 1;
                    if names(difference, planted.at) {
                        named += 1;
                    } else {
                        complaints.push(format!("{what}: {verdict}"));
                    }
                }
                Verdict::Stuck(_) => *refuted.entry(planted.fault).or_default() += 1,
                Verdict::Sampled(_) | Verdict::Undecided(_) | Verdict::Incomparable(_) | Verdict::Cancelled => {
                    panic!("{what}: {verdict}")
                }
            }
        }
    }
    println!("{refuted:?}, {named} named, {harmless} harmless; not named:\n{}", complaints.join("\n"));
    for fault in Fault::ALL {
        assert!(refuted.get(&fault).is_some_and(|&count| count >= 20), "{fault:?}: {refuted:?}");
    }
    // Where several instructions make a tensor, each a part, the report may name another part's.
    assert!(complaints.len() * 20 <= named, "{} beside {named} are not named", complaints.len());
}

/// However large the image is, everything is compared.
const BY_RESIDUES: Work = Work { terms: 0, residues: u64::MAX };

/// Of an image that is too large only the first words of a step are compared: a wrong one among them is found, and none is where there is none.
#[test]
fn a_sample_finds_the_wrong_words_in_it() {
    let text =
        "def f(float(M,N) A, float(N,M) B) -> (C, D) {\n  C(i,j) +=! A(i,k) * B(k,j)\n  D(i,j) +=! C(i,k) * C(k,j)\n}";
    let values = |seed: usize| (0..144).map(|k| ((k * 37 + seed) % 64) as f64 / 64.0 - 0.4).collect::<Vec<f64>>();
    let shapes = serde_json::json!({ "A": vec![vec![0; 12]; 12], "B": vec![vec![0; 12]; 12] });
    let options = with_shapes_of(&shapes, language::Options::default());
    let (program, _) = language::parse(Language::TensorComprehensions, text, &options).unwrap();
    let steps = [3, 5].map(|n| BTreeMap::from([("A".to_owned(), values(n)), ("B".to_owned(), values(n + 1))]));
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let climb = Climb::new(&program, &options, &BTreeMap::new(), &steps, &grid(2, 4)).expect("an image");
    // All of C and half of D.
    let budget = Work { terms: 0, residues: 12 * (144 + 72) };
    let verdict = |image: &Image| prove_within(&climb.fixed, image, "", budget);
    let Verdict::Sampled(sample) = verdict(climb.image()) else { panic!("{}", verdict(climb.image())) };
    assert_eq!((sample.words, sample.of), (144 + 72, 288));
    assert!(sample.to_string().contains("the first 216 of 288 words of a step, a sample, p < 2^-5"), "{sample}");
    let (mut inside, mut outside) = (0, 0);
    for planted in Fault::ALL.into_iter().flat_map(|fault| plant(climb.image(), fault)) {
        let whole = prove_within(&climb.fixed, &planted.image, "", BY_RESIDUES);
        match (&whole, verdict(&planted.image)) {
            (Verdict::Sampled(_), sampled) => assert!(matches!(sampled, Verdict::Sampled(_)), "{sampled}"),
            (_, Verdict::Sampled(_)) => outside += 1,
            _ => inside += 1,
        }
    }
    assert!(inside >= 20 && outside >= 1, "{inside} seen, {outside} behind the sample");
}

/// A program that says something else than the image does.
#[test]
fn another_program_is_refuted() {
    let (_, climb) = subjects().swap_remove(1);
    let mut refuted = 0;
    for number in 0..climb.fixed.operations.len() {
        let mut program = climb.fixed.clone();
        let Kind::MultiplyAdd { shift, product: Some(_), .. } = &mut program.operations[number].kind else { continue };
        *shift += 1;
        let verdict = prove(&program, climb.image(), "", 2, &mut |_, _| true);
        let Verdict::Refuted(difference) = verdict else { panic!("operation {number}: {verdict}") };
        assert_eq!(difference.cause, Cause::Makes, "operation {number}: {difference}");
        let out = &program.tensors[program.operations[number].out.0].name;
        assert_eq!(difference.first.tensor, *out, "operation {number}: {difference}");
        refuted += 1;
    }
    assert!(refuted >= 5, "{refuted} operations");
}

/// Positive parts as one beat, in PEs and roots, and as several beats; and images that forget one.
#[test]
fn lost_rectifiers_are_refuted() {
    let text = "def f(float(6) X, float(6) W) -> (Y, r) {
  Y(i) = fmin(fmax(X(i) - W(i), 0.0), 0.5)
  h +=! X(i) * W(i)
  r = fmax(h, 0.0)
}";
    let (program, _) = language::parse(Language::TensorComprehensions, text, &language::Options::default()).unwrap();
    let (model, steps) = made_up::values(&program, 1, 2);
    let names = ["Y", "r"].map(str::to_owned).to_vec();
    let options = Options { keep: Keep::Prediction { names, states: Vec::new() }, batch: Batch::SINGLE };
    let of = |pes_per_pu| Climb::new(&program, &options, &model, &steps, &grid(2, pes_per_pu)).unwrap();
    let [with, without] = [2, 3].map(of);
    assert_eq!(with.fixed, without.fixed, "words do not depend on the grid");
    without.prove().unwrap();
    with.prove().unwrap();
    let image = with.image();
    let mut lost = Vec::new();
    let of_words = |alu: &AluInstruction| alu.write.is_some() && matches!(alu.finish, Finish::Positive(_));
    for number in (0..image.alu.len()).filter(|&n| of_words(&image.alu[n].instruction)) {
        let mut own = image.clone();
        own.alu[number].instruction.finish = Finish::Round;
        lost.push(("alu", number, own));
        let mut own = image.clone();
        own.alu[number].instruction.finish = Finish::Positive(UNLIMITED);
        if own != *image {
            lost.push(("limit", number, own));
        }
    }
    for number in (0..image.root.len()).filter(|&n| image.root[n].positive.is_some()) {
        let mut own = image.clone();
        own.root[number].positive = None;
        lost.push(("root", number, own));
    }
    assert!(
        ["alu", "limit", "root"].iter().all(|&stream| lost.iter().any(|of| of.0 == stream)),
        "{}",
        with.compiled.stages.jobs
    );
    for (stream, number, own) in lost {
        let verdict = prove(&with.fixed, &own, "", 2, &mut |_, _| true);
        assert!(matches!(verdict, Verdict::Refuted(_)), "{stream} {number}: {verdict}");
    }
}

/// Sums of which only ranges say that they fit may wrap around elsewhere in another accumulator; the others may not.
#[test]
fn accumulators_of_other_widths_are_compared_where_sums_fit() {
    let (_, climb) = subjects().swap_remove(0);
    let verdict = |bound: SumBound| {
        let mut program = climb.fixed.clone();
        program.accumulator += 1;
        for operation in &mut program.operations {
            if let Kind::MultiplyAdd { bound: own, .. } = &mut operation.kind {
                *own = bound;
            }
        }
        prove(&program, climb.image(), "", 2, &mut |_, _| true)
    };
    assert!(matches!(verdict(SumBound::Formats), Verdict::Proven(_)), "{}", verdict(SumBound::Formats));
    assert!(matches!(verdict(SumBound::Ranges), Verdict::Incomparable(_)), "{}", verdict(SumBound::Ranges));
    let wider = fixed::Program { word: climb.fixed.word + 1, ..climb.fixed.clone() };
    let verdict = prove(&wider, climb.image(), "", 2, &mut |_, _| true);
    assert!(matches!(verdict, Verdict::Incomparable(_)), "{verdict}");
}

/// Nobody has to wait for the end.
#[test]
fn a_proof_can_be_stopped() {
    let (_, climb) = subjects().swap_remove(1);
    let mut looks = 0;
    let verdict = prove(&climb.fixed, climb.image(), "", 100, &mut |_, _| {
        looks += 1;
        looks < 2
    });
    assert_eq!(verdict, Verdict::Cancelled);
    assert_eq!(looks, 2, "nobody was asked after saying stop");
}
