//! Choice of binary points: what the machine demands, what the user gives, what is refused.

use arch::{Code, Diagnostic};
use compiler::canonical::{Batch, Keep, Options, Reduction, canonicalise};
use compiler::fixed::{self, Kind, NumberReport, Numbers, Operand, Program, Role};
use compiler::language::{self, Language};
use compiler::ranges::Ranges;

type Lowered = Result<(Program, NumberReport), Vec<Diagnostic>>;

/// Lower a training step; values lie between -`bound` and `bound` unless `ranges` says otherwise.
fn lower(text: &str, numbers: &Numbers, bound: f64, ranges: &[(&str, f64)]) -> Lowered {
    let (program, _) = language::parse(Language::Tabla, text, &language::Options::default())?;
    let batch = Batch { size: 1, reduction: Reduction::Mean };
    let program = canonicalise(&program, &Options { keep: Keep::AllNames, batch })?;
    let range = |name: &str| ranges.iter().find(|(n, _)| *n == name).map_or(bound, |&(_, bound)| bound);
    let tensors = program.tensors.iter().map(|t| Some((-range(&t.name), range(&t.name)))).collect();
    fixed::lower(&program, &Ranges::of_tensors(tensors), numbers)
}

fn fraction(program: &Program, name: &str) -> i32 {
    program.tensors.iter().find(|t| t.name == name).expect("a tensor of this name").fraction
}

const LINEAR: &str = "mu = 0.3; model_input x[100]; model_output y; model w[100]; gradient g[100] -> w;
    iterator i[0:100]; h = sum[i](w[i] * x[i]); d = h - y; g[i] = d * x[i];";

#[test]
fn a_range_leaves_as_many_bits_as_it_can() {
    let (program, report) = lower(LINEAR, &Numbers::of_width(16), 1.0, &[("h", 7.9), ("x", 0.01)]).expect("it fits");
    assert_eq!(fraction(&program, "w"), 14);
    assert_eq!(fraction(&program, "h"), 12);
    assert_eq!(fraction(&program, "x"), 21);
    assert!(report.notes.is_empty());
    assert!(report.tensors.iter().all(|t| !t.decided.is_empty()));
}

#[test]
fn headroom_is_kept() {
    let numbers = Numbers { headroom: 2, ..Numbers::of_width(16) };
    let (program, _) = lower(LINEAR, &numbers, 1.0, &[]).expect("it fits");
    assert_eq!(fraction(&program, "w"), 12);
}

#[test]
fn given_binary_points_are_taken() {
    let mut numbers = Numbers::of_width(16);
    numbers.fractions.insert("h".into(), 8);
    let (program, report) = lower(LINEAR, &numbers, 1.0, &[]).expect("it fits");
    assert_eq!(fraction(&program, "h"), 8);
    assert!(report.notes.is_empty());
}

#[test]
fn a_given_binary_point_that_no_operand_has_bits_for_is_lowered_with_a_note() {
    let mut numbers = Numbers::of_width(16);
    numbers.fractions.insert("h".into(), 12);
    // Values of thousands: the product has no bits after the binary point.
    let bounds = [("w", 20000.0), ("x", 20000.0)];
    let (program, report) = lower(LINEAR, &numbers, 1.0, &bounds).expect("it fits");
    assert!(fraction(&program, "h") <= 0);
    assert!(report.notes.iter().any(|note| note.code == Code::WarnNumber && note.message.contains("`h`")));
}

#[test]
fn a_narrow_accumulator_costs_bits_and_says_so() {
    let numbers = Numbers { accumulator: 32, ..Numbers::of_width(16) };
    let (program, report) = lower(LINEAR, &numbers, 1.0, &[("h", 100.0)]).expect("it fits");
    // 2^31 > 100 * 2^(f(w) + f(x))
    assert!(fraction(&program, "w") + fraction(&program, "x") <= 24);
    assert!(report.notes.iter().any(|note| note.message.contains("`h`") && note.message.contains("32-bit")));
    assert!(report.tensors.iter().any(|t| t.decided.contains("accumulator")));
}

#[test]
fn an_accumulator_wide_enough_for_every_word_needs_no_note() {
    let (_, report) = lower(LINEAR, &Numbers::of_width(16), 1.0, &[("h", 100.0)]).expect("it fits");
    assert!(report.notes.is_empty());
}

#[test]
fn all_tables_share_the_table_memory() {
    let text = "model_input x[3]; iterator i[0:3]; a[i] = sigmoid(x[i]); b[i] = gaussian(a[i]); c[i] = sigmoid(b[i]);";
    for entries in [1024, 128, 64] {
        let numbers = Numbers { table_entries: entries, ..Numbers::of_width(16) };
        let (program, report) = lower(text, &numbers, 4.0, &[("a", 0.99), ("b", 0.3), ("c", 0.99)]).expect("it fits");
        // A function that is refined is several operations, and its table is for the words that were seen. What is not accurate is said.
        let refined = program.operations.len() > 3;
        assert_eq!(report.notes.is_empty(), entries > 64, "{entries} entries: {:?}", report.notes);
        let mut next = 0;
        for table in &program.tables {
            assert_eq!(table.usage.base as usize, next);
            next += table.entries.len();
            assert!(refined || table.error() <= arch::function::MAX_ERROR);
        }
        assert!(next <= entries as usize, "{next} of {entries}");
    }
}

/// An accurate table of `a` has 1024 entries, and `b` wants a few beside it. Accuracy is the same: what a larger memory saves are operations.
#[test]
fn a_larger_memory_saves_the_steps_of_functions_that_are_crowded() {
    let text = "model_input x[3], z[3]; iterator i[0:3]; a[i] = sigmoid(x[i]); b[i] = sigmoid(z[i]);";
    let ranges = [("x", 11.0), ("a", 0.49), ("z", 0.4), ("b", 0.9)];
    let lower = |numbers: Numbers| lower(text, &numbers, 1.0, &ranges).expect("it fits");
    let entries = |program: &Program| program.tables.iter().map(|table| table.entries.len()).sum::<usize>();
    let small = Numbers { most_table_entries: 2048, ..Numbers::of_width(16) };
    let (steps, report) = lower(small.clone());
    assert!(report.crowded && report.inaccurate == 0 && entries(&steps) <= 1024, "{}", entries(&steps));
    assert!(steps.operations.len() > 8, "both are series: {}", steps.operations.len());
    let (tables, report) = lower(Numbers { spares_steps: true, ..small.clone() });
    assert!(!report.crowded && report.inaccurate == 0 && report.notes.is_empty());
    assert_eq!(tables.operations.len(), 2);
    assert!((1025..=2048).contains(&entries(&tables)), "{}", entries(&tables));
    // No more than is allowed.
    let (same, _) = lower(Numbers { spares_steps: true, most_table_entries: 1024, ..small });
    assert_eq!(same.operations.len(), steps.operations.len());
}

#[test]
fn updates_happen_in_place_where_the_old_value_is_not_needed_any_more() {
    let (program, _) = lower(LINEAR, &Numbers::of_width(16), 1.0, &[]).expect("it fits");
    let last = program.operations.last().expect("an update");
    assert_eq!(program.tensors[last.out.0].role, Role::State);
    assert!(
        matches!(&last.kind, Kind::MultiplyAdd { start: Some(Operand::Read { tensor, .. }), .. } if *tensor == last.out)
    );
}

#[test]
fn updates_that_read_other_elements_go_through_a_temporary() {
    let text = "model_input x; model w[4]; iterator i[0:4]; iterator j[0:3];
        w[i] = w[i] + sum[j](w[j]) * x;  w[0] = w[1];";
    let (program, _) = lower(text, &Numbers::of_width(16), 1.0, &[]).expect("it fits");
    let last = program.operations.last().expect("an update");
    assert_eq!(program.tensors[last.out.0].role, Role::State);
    assert!(matches!(last.kind, Kind::MultiplyAdd { product: None, .. }), "{program}");
}

#[test]
fn values_too_large_for_a_product_are_refused_by_name() {
    let text = "model_input x[3]; iterator i[0:3]; p = pi[i](x[i]);";
    let errors = lower(text, &Numbers::of_width(16), 1e6, &[]).expect_err("no room");
    assert_eq!(errors[0].code, Code::Backend);
    assert!(errors[0].message.contains("`p`") && errors[0].span.is_some() && errors[0].help.is_some());
}

#[test]
fn a_refined_function_of_elements_from_one_on_shifts_no_index() {
    let text = "model_input x[9]; iterator i[1:9]; p[i] = x[i] * x[i]; p[0] = 1; a[i] = sigmoid(p[i]); a[0] = 1;";
    let (program, _) = lower(text, &Numbers::of_width(24), 16.0, &[("x", 4.0), ("a", 1.0)]).expect("it fits");
    assert!(program.tensors.iter().any(|tensor| tensor.name == "a.near"), "it is not refined");
    // What is shifted would have to lie in one PE.
    for operation in &program.operations {
        fixed::for_each_access(operation, |_, index, _| {
            assert!(index.iter().all(|form| form.as_iterator().is_some() || form.as_constant().is_some()), "{index:?}");
        });
    }
}
