//! How far fixed point is from golden, and who is named for it.

mod channels;
mod columns;

use arch::Code;
use compiler::canonical::{Batch, Keep, Options};
use compiler::fixed::Numbers;
use compiler::language::{self, Language, parse};
use serde_json::{Value, json};
use sim::distance::{Accuracy, Distance, distance};
use sim::eval::{read_inputs, with_shapes_of};
use sim::ladder::{NamedValues, Upper};

/// How accurate a program of Tensor Comprehensions is over some steps, its binary points chosen for the first `seen` of them.
fn accuracy(text: &str, steps: &[Value], seen: usize, numbers: &Numbers) -> Accuracy {
    let options = with_shapes_of(&steps[0], language::Options::default());
    let (program, _) = parse(Language::TensorComprehensions, text, &options).expect("the program is right");
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let values = |inputs: &Value| -> NamedValues {
        let read = read_inputs(&program, inputs).expect("the inputs fit");
        let known = |elements: Vec<Option<f64>>| elements.into_iter().map(Option::unwrap).collect();
        read.into_iter().map(|(id, elements)| (program.tensors[id.0].name.clone(), known(elements))).collect()
    };
    let steps: Vec<NamedValues> = steps.iter().map(values).collect();
    let upper = Upper::new(&program, &options, &NamedValues::new(), &steps[..seen], numbers).expect("it fits");
    upper.pair().accuracy(&NamedValues::new(), &steps, &|_| None).expect("values have a meaning")
}

fn warning(text: &str, inputs: &Value, numbers: &Numbers) -> Option<arch::Diagnostic> {
    accuracy(text, std::slice::from_ref(inputs), 1, numbers).lost_bits
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
    assert!(said.message.starts_with("`P` loses too many of its 16 bits"), "{}", said.message);
    let place = said.span.expect("a place");
    assert!(product[place.start..].starts_with("P(i) = "), "{place:?}");
    assert!(said.help.expect("a remedy").contains("[numbers.fractions]"));
}

#[test]
fn a_table_with_too_few_entries_is_named() {
    let values = json!({ "A": [0.75, -1.25, 0.5, 3.0], "B": [0.3, 0.7, -0.9, 0.1] });
    let text = "def f(float(N) A, float(N) B) -> (O) {\n  S(i) = sigmoid(A(i))\n  O(i) = S(i) * B(i)\n}";
    let text = text.replace("sigmoid", "tanh");
    let few = Numbers { table_entries: 4, ..Numbers::of_width(24) };
    let said = warning(&text, &values, &few).expect("4 entries cannot give 1 %");
    assert!(said.message.starts_with("`S` loses too many"), "{}", said.message);
    assert!(said.help.expect("a remedy").contains("table_entries"));
    let many = Numbers { table_entries: 4096, ..Numbers::of_width(16) };
    assert_eq!(warning(&text, &values, &many), None);
}

/// Words for values up to 1 hold 0.75 and its half exactly, and clip 6.5.
#[test]
fn a_value_that_was_not_foreseen_is_named_in_the_step_that_has_it() {
    let text = "def f(float(N) A) -> (O) {\n  O(i) = A(i) * 0.5\n}";
    let steps = [json!({ "A": [0.75, -1.0] }), json!({ "A": [0.5, 6.5] })];
    let numbers = Numbers::of_width(16);
    let good = accuracy(text, &steps[..1], 1, &numbers);
    assert!(good.verdict.suffices && good.lost_bits.is_none() && good.distance == Distance::default(), "{good:?}");
    let bad = accuracy(text, &steps, 1, &numbers);
    let said = bad.lost_bits.expect("6.5 is clipped");
    assert!(said.message.starts_with("`A` loses too many"), "{}", said.message);
    assert!(said.help.expect("a remedy").contains("`headroom`"));
    // The largest word is 1 - 2^-15, and its half is between two words; 3.25 is expected.
    let error = 3.25 - 0.5;
    assert!((bad.distance.absolute - error).abs() < 1e-4, "{:?}", bad.distance);
    assert!((bad.distance.relative - error / 3.25).abs() < 1e-4, "{:?}", bad.distance);
}

/// What all words of a width lose is lost: a result that is 1 beside a term of 100,000 has no bits left in words of 16 bits.
#[test]
fn the_width_explains_nothing() {
    let text = "def f(float(N) A, float(N) B) -> (O) {\n  S(i) = A(i) + B(i)\n  O(i) = S(i) - A(i)\n}";
    let values = json!({ "A": [1.0e5, 1.0e5], "B": [1.0, 0.5] });
    let narrow = accuracy(text, std::slice::from_ref(&values), 1, &Numbers::of_width(16));
    assert!(narrow.distance.absolute >= 0.5, "{:?}", narrow.distance);
    // A share of the result's own largest value, which is 1.
    assert!(narrow.distance.relative >= 0.5, "{:?}", narrow.distance);
    let said = narrow.lost_bits.expect("nothing is left of O");
    assert!(said.message.contains("of its 16 bits"), "{}", said.message);
    let wide = accuracy(text, &[values], 1, &Numbers::of_width(32));
    assert!(wide.lost_bits.is_none() && wide.distance.relative < 1e-3, "{wide:?}");
}

/// Of 10^6 +- 10 words of 16 bits keep none, with 17 to 20 bits of an offset: the remedy is to give the differences.
#[test]
fn an_offset_is_named() {
    for mean in [1.0e6, 1.3e5] {
        let text = format!("def f(float(N) A) -> (Z) {{\n  Z(i) = (A(i) - {mean:.1}) / 10.0\n}}");
        let values = json!({ "A": [mean + 3.5, mean - 9.0, mean + 10.0, mean - 2.75] });
        let said = warning(&text, &values, &Numbers::of_width(16)).expect("nothing is left of Z");
        assert!(said.message.starts_with("`Z` loses too many"), "{}", said.message);
        let (help, start) = (said.help.expect("a remedy"), format!("starts at {:.3e}", mean / 10.0));
        assert!(help.contains("subtract an offset") && help.contains(&start), "{help}");
    }
    // What takes its bits without an offset has no such remedy.
    let coarse = Numbers { fractions: [("A".to_owned(), 2)].into(), ..Numbers::of_width(16) };
    let said = warning("def f(float(N) A) -> (Z) {\n  Z(i) = A(i) - 0.25\n}", &json!({ "A": [0.3, 0.4] }), &coarse);
    assert!(!said.expect("A has two bits").help.expect("a remedy").contains("offset"));
}

/// A result of 1e30 is counted with its true value, and named.
#[test]
fn a_result_beyond_all_words_is_named_with_its_value() {
    let text = "def f(float(N) A) -> (O) {\n  O(i) = A(i) + 1e30\n}";
    let found = accuracy(text, &[json!({ "A": [1.0, 2.0] })], 1, &Numbers::of_width(16));
    let [said] = found.beyond.as_slice() else { panic!("{found:?}") };
    assert_eq!(said.code, Code::WarnNumber);
    assert!(said.message.contains("element 0 of `O` is 1e30"), "{}", said.message);
    assert!(found.distance.absolute > 0.9e30 && found.distance.relative > 0.9, "{:?}", found.distance);
}

/// Results that are no numbers or infinite on golden are named with element and value, once per tensor.
#[test]
fn results_that_no_word_holds_are_named() {
    for (text, a, told) in [
        ("A(i) / A(i)", json!([1.0, 0.0]), "element 1 of `O` is nan"),
        ("1.0 / A(i)", json!([0.0, 2.0]), "element 0 of `O` is inf"),
        ("0.0 - 1.0 / A(i)", json!([4.0, 0.0]), "element 1 of `O` is -inf"),
        ("log(A(i))", json!([2.0, -1.0]), "element 1 of `O` is nan"),
        ("exp(A(i))", json!([2.0, 800.0]), "element 1 of `O` is inf"),
        ("exp(A(i))", json!([2.0, 100.0]), "element 1 of `O` is 2.688"),
        ("fmax(A(i), 0.0 / 0.0)", json!([2.0, 3.0]), "element 0 of `O` is nan"),
    ] {
        let program = format!("def f(float(N) A) -> (O) {{\n  O(i) = {text}\n}}");
        let found = accuracy(&program, &[json!({ "A": a }), json!({ "A": a })], 1, &Numbers::of_width(16));
        let [said] = found.beyond.as_slice() else { panic!("{text}: {found:?}") };
        assert_eq!(said.code, Code::WarnNumber);
        assert!(said.message.contains(told) && said.message.contains("no word holds"), "{text}: {}", said.message);
    }
    let finite = accuracy(
        "def f(float(N) A) -> (O) {\n  O(i) = exp(A(i))\n}",
        &[json!({ "A": [1.0] })],
        1,
        &Numbers::of_width(16),
    );
    assert_eq!(finite.beyond, []);
}
