//! Semantics of TABLA programs beyond the conformance programs: versions, partial writes, explicit updates, constants from outside.

use arch::Code;
use compiler::language::{Options, tabla};
use serde_json::{Value, json};
use sim::eval::evaluate;
use sim::golden::Golden;

fn set(settings: &[(&str, f64)]) -> Options {
    Options { set: settings.iter().map(|(name, value)| ((*name).to_string(), *value)).collect(), ..Options::default() }
}

fn run_with(text: &str, options: &Options, inputs: &Value) -> Value {
    let (program, _) = tabla::parse(text, options).unwrap_or_else(|errors| panic!("{errors:#?}"));
    evaluate(&program, inputs, &mut Golden::new(&program)).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

fn run(text: &str, inputs: &Value) -> Value {
    run_with(text, &Options::default(), inputs)
}

fn codes(text: &str, options: &Options) -> Vec<Code> {
    let (Ok((_, diagnostics)) | Err(diagnostics)) = tabla::parse(text, options);
    diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn a_partial_write_reads_old_values() {
    let text =
        "model_input x[4]; iterator i[0:4], q[1:4], r[2:4]; a[i] = x[i]; a[q] = a[q] + a[0]; a[r] = a[1] * a[r];";
    assert_eq!(run(text, &json!({"x": [1, 2, 3, 4]}))["values"]["a"], json!([1.0, 3.0, 12.0, 15.0]));
    let shift = "model_input x[3]; iterator i[0:3], q[0:2]; a[i] = x[i]; a[q] = a[2] - a[q] + sum[i](a[i]);";
    assert_eq!(run(shift, &json!({"x": [1, 2, 4]}))["values"]["a"], json!([10.0, 9.0, 4.0]));
}

#[test]
fn the_diagonal_is_written_in_place() {
    let text =
        "model_input x[3]; iterator i[0:3], j[0:3]; a[i][j] = x[j]; a[i][i] = a[i][i] * 10; s = sum[i](a[i][i]);";
    let result = run(text, &json!({"x": [1, 2, 3]}));
    assert_eq!(result["values"]["a"], json!([[10.0, 2.0, 3.0], [1.0, 20.0, 3.0], [1.0, 2.0, 30.0]]));
    assert_eq!(result["values"]["s"], json!(60.0));
}

#[test]
fn an_interim_is_as_large_as_what_is_ever_assigned() {
    let result = run("model_input x; a[2] = x; b = a[2] + 1; a[4] = 7;", &json!({"x": 5}));
    assert_eq!(result["values"]["a"], json!([null, null, 5.0, null, 7.0]));
    assert_eq!(result["values"]["b"], json!(6.0));
}

#[test]
fn a_model_may_be_assigned() {
    let text = "mu = 1; model_input x[2]; model w[2]; gradient g[2] -> w; iterator i[0:2]; \
                w[0] = w[0] + x[0]; s = sum[i](w[i]); g[i] = w[i];";
    let result = run(text, &json!({"x": [10, 0], "w": [1, 2]}));
    assert_eq!(result["values"]["s"], json!(13.0));
    // No descent is appended for a model that the program assigns.
    assert_eq!(result["next"]["w"], json!([11.0, 2.0]));
    assert_eq!(result["values"]["g"], json!([11.0, 2.0]));
    let twice = "model w[2]; iterator i[0:2]; w[i] = w[i] * 2; w[i] = w[i] + 1;";
    assert_eq!(run(twice, &json!({"w": [1, 2]}))["next"]["w"], json!([3.0, 5.0]));
}

#[test]
fn constants_come_from_outside() {
    let text = "m = 55; model_input x[m]; model w[m]; gradient g[m] -> w; iterator i[0:m]; g[i] = x[i] * w[i];";
    let result = run_with(text, &set(&[("m", 2.0), ("mu", 0.5)]), &json!({"x": [1, 2], "w": [4, 8]}));
    assert_eq!(result["next"]["w"], json!([2.0, 0.0]));
    // Without a learning rate there is a gradient and no update.
    let result = run_with(text, &set(&[("m", 2.0)]), &json!({"x": [1, 2], "w": [4, 8]}));
    assert_eq!(result["values"]["g"], json!([4.0, 16.0]));
    assert_eq!(result.get("next"), None);
    assert_eq!(codes(text, &set(&[("mm", 2.0)])), [Code::Undef]);
    assert_eq!(codes(text, &set(&[("x", 2.0)])), [Code::Kind]);
    assert_eq!(codes(text, &set(&[("m", 2.5)]))[0], Code::Kind);
    assert_eq!(codes("n = 3; model_input x; a = x * n * k;", &set(&[("k", 2.0)])), []);
}

#[test]
fn an_interim_shadows_a_constant() {
    let text = "k = 2; model_input x; a = x * k; k = x + 1; b = k * 10; k = 3; c = k;";
    let values = &run(text, &json!({"x": 4}))["values"];
    assert_eq!((&values["a"], &values["b"], &values["c"]), (&json!(8.0), &json!(50.0), &json!(3.0)));
    assert_eq!(codes("k = 2; model_input x; k = x + 1; model_input y[k];", &Options::default()), [Code::Kind]);
}

#[test]
fn the_seed_dialect_has_no_decimals() {
    let seed = Options { seed_dialect: true, ..Options::default() };
    assert_eq!(codes("mu = 0.5;", &seed), [Code::Lex]);
    assert_eq!(run("model_input x; a = x * 0.5 + 2e-1;", &json!({"x": 1}))["values"]["a"], json!(0.7));
}

#[test]
fn missing_values_are_named_unless_nothing_needs_them() {
    let (program, _) = tabla::parse("model_input x; model w, v; a = x * w;", &Options::default()).unwrap();
    let errors = evaluate(&program, &json!({"x": 1}), &mut Golden::new(&program)).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.code).collect::<Vec<_>>(), [Code::UndefVal]);
    let errors = evaluate(&program, &json!({"x": [1], "u": 1}), &mut Golden::new(&program)).unwrap_err();
    assert_eq!(errors.iter().map(|e| e.code).collect::<Vec<_>>(), [Code::Undef, Code::Shape, Code::UndefVal]);
    let result = evaluate(&program, &json!({"x": null, "w": 2}), &mut Golden::new(&program)).unwrap();
    assert_eq!(result["values"]["a"], Value::Null);
}

#[test]
fn values_without_a_number_are_words() {
    let result = run("model_input x; a = log(x); b = log(0 - x) < 0;", &json!({"x": -1}));
    assert_eq!(result["values"]["a"], json!("nan"));
    let (program, _) = tabla::parse("model_input x; a = log(x);", &Options::default()).unwrap();
    let mut golden = Golden::new(&program);
    evaluate(&program, &json!({"x": 0}), &mut golden).unwrap();
    assert_eq!(golden.warnings()[0].code.as_str(), "W-NUMBER");
}
