//! How far fixed point is from golden, and who is named for it.

use arch::Code;
use compiler::canonical::{Batch, Keep, Options, canonicalise};
use compiler::fixed::{self, Numbers};
use compiler::language::{self, Language, parse};
use compiler::tensor::TensorId;
use serde_json::{Value, json};
use sim::distance::{Compared, Distance, distance, held};
use sim::eval::{Engine, read_inputs, with_shapes_of};
use sim::fixed::Fixed;
use sim::golden::Golden;

/// The warning about a program of Tensor Comprehensions.
fn warning(text: &str, inputs: &Value, numbers: &Numbers) -> Option<arch::Diagnostic> {
    let options = with_shapes_of(inputs, language::Options::default());
    let (program, _) = parse(Language::TensorComprehensions, text, &options).expect("the program is right");
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let program = canonicalise(&program, &options).expect("one sample");
    let mut golden = Golden::new(&program);
    for (tensor, elements) in read_inputs(&program, inputs).expect("the inputs fit") {
        Engine::set(&mut golden, tensor, &elements);
    }
    let given = held(&program, &golden);
    golden.step().expect("values have a meaning");
    let (lowered, report) = fixed::lower(&program, golden.ranges(), numbers).expect("it fits");
    let mut fixed = Fixed::new(&lowered);
    for (tensor, values) in &given {
        let TensorId(id) = tensor;
        let there = fixed.tensor(&program.tensors[*id].name).expect("the same name");
        fixed.set_real(there, values);
    }
    fixed.step();
    let compared = Compared { program: &program, lowered: &lowered, numbers: &report, golden: &golden, fixed: &fixed };
    compared.lost_bits(&given)
}

#[test]
fn a_distance_is_the_largest_error_and_its_share() {
    let found = [Some(1.5), Some(-4.0), None, Some(7.0), Some(9.0)];
    let golden = [Some(1.0), Some(-4.25), Some(3.0), None, Some(f64::INFINITY)];
    let expected = Distance { absolute: 0.5, relative: 0.5 / 4.25 };
    assert_eq!(distance([(found.as_slice(), golden.as_slice())]), expected);
    assert_eq!(distance([]), Distance::default());
}

#[test]
fn who_lost_the_bits_is_named() {
    let values = json!({ "A": [0.75, -1.25, 0.5, 1.0], "B": [0.3, 0.7, -0.9, 0.1] });
    let product = "def f(float(N) A, float(N) B) -> (O) {\n  P(i) = A(i) * B(i)\n  O(i) = P(i) + A(i)\n}";
    for word in [8, 12, 16, 24] {
        let warning = warning(product, &values, &Numbers::of_width(word));
        assert!(warning.is_none(), "{word} bits: {warning:?}");
    }
    // A binary point that was given takes bits from the product, not from the sum.
    let coarse = Numbers { fractions: [("P".to_owned(), 4)].into(), ..Numbers::of_width(16) };
    let said = warning(product, &values, &coarse).expect("P has 4 bits after the binary point only");
    assert_eq!(said.code, Code::WarnAccuracy);
    assert_eq!(said.code.as_str(), "W-ACCURACY");
    assert!(said.message.starts_with("`P` loses more bits"), "{}", said.message);
    let place = said.span.expect("a place");
    assert!(product[place.start..].starts_with("P(i) = "), "{place:?}");
    assert!(said.help.expect("a remedy").contains("[numbers.fractions]"));
}

#[test]
fn a_table_with_too_few_entries_is_named() {
    let values = json!({ "A": [0.75, -1.25, 0.5, 3.0], "B": [0.3, 0.7, -0.9, 0.1] });
    let text = "def f(float(N) A, float(N) B) -> (O) {\n  S(i) = sigmoid(A(i))\n  O(i) = S(i) * B(i)\n}";
    let text = text.replace("sigmoid", "tanh");
    let few = Numbers { table_entries: 16, ..Numbers::of_width(24) };
    let said = warning(&text, &values, &few).expect("16 entries cannot give 24 bits");
    assert!(said.message.starts_with("`S` loses more bits"), "{}", said.message);
    assert!(said.help.expect("a remedy").contains("table_entries"));
    let many = Numbers { table_entries: 4096, ..Numbers::of_width(16) };
    assert_eq!(warning(&text, &values, &many), None);
}
