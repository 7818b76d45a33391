//! The same computation in four languages is the same canonical program and the same microcode.

use arch::{Image, Machine, Span};
use compiler::canonical::{Batch, Keep, Options, canonicalise};
use compiler::fixed::{self, Numbers};
use compiler::language::{self, Language};
use compiler::ranges::Ranges;
use compiler::search::compile;
use compiler::tensor::{Program, Role};

/// The result of a program in canonical form.
fn canonical(language: Language, text: &str, shapes: &[(&str, &[u32])], result: &str) -> Program {
    let shapes = shapes.iter().map(|&(name, shape)| (name.to_owned(), shape.to_vec())).collect();
    let options = language::Options { shapes, ..language::Options::default() };
    let (program, _) = language::parse(language, text, &options).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    let keep = Keep::Prediction { names: vec![result.to_owned()], states: Vec::new() };
    canonicalise(&program, &Options { keep, batch: Batch::SINGLE }).expect("it is a program for the array")
}

/// Without what the source calls things, where it says them, and what it declares results to be.
fn anonymous(mut program: Program) -> Program {
    for (number, tensor) in program.tensors.iter_mut().enumerate() {
        (tensor.name, tensor.span) = (format!("t{number}"), Span::default());
        if matches!(tensor.role, Role::Output | Role::Gradient(_)) {
            tensor.role = Role::Temporary;
        }
    }
    for nest in &mut program.nests {
        nest.origin = arch::Origin::default();
        for (number, iterator) in nest.iterators.iter_mut().enumerate() {
            iterator.name = format!("i{number}");
        }
    }
    for (number, (name, _)) in program.names.iter_mut().enumerate() {
        *name = format!("r{number}");
    }
    program
}

/// The microcode, when all values lie in -4..4.
fn image(program: &Program) -> Image {
    let machine = Machine::grid(2, 4, 16).expect("a grid");
    let ranges = Ranges::of_tensors(vec![Some((-4.0, 4.0)); program.tensors.len()]);
    let (words, _) = fixed::lower(program, &ranges, &Numbers::of_machine(&machine)).expect("it has binary points");
    compile(&words, &machine).expect("it fits").image
}

/// One computation: its program in TABLA, Tensor Comprehensions, Tile and the model language, and the shapes of its inputs.
struct Computation {
    texts: [(Language, &'static str, &'static str); 4],
    shapes: &'static [(&'static str, &'static [u32])],
}

fn assert_one_program(computation: &Computation) {
    let programs = computation
        .texts
        .map(|(language, text, result)| (language, anonymous(canonical(language, text, computation.shapes, result))));
    let (_, first) = &programs[0];
    let code = image(first);
    assert!(!code.alu.is_empty());
    for (language, program) in &programs[1..] {
        assert_eq!(program, first, "{language:?}:\n{program}\nagainst TABLA:\n{first}");
        let other = image(program);
        assert_eq!(other.control_writes(), code.control_writes());
        assert_eq!((other.entries, other.step_length), (code.entries, code.step_length));
        assert_eq!((&other.step_in, &other.step_out), (&code.step_in, &code.step_out));
    }
}

#[test]
fn matrix_product() {
    assert_one_program(&Computation {
        texts: [
            (
                Language::Tabla,
                "model_input A[3][4]; model_input B[4][5]; model_output C[3][5];
                 iterator i[0:3]; iterator j[0:5]; iterator k[0:4];
                 C[i][j] = sum[k](A[i][k] * B[k][j]);",
                "C",
            ),
            (
                Language::TensorComprehensions,
                "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m, n) +=! A(m, r_k) * B(r_k, n) }",
                "C",
            ),
            (
                Language::Tile,
                "def mm(A, B):\n  I, J, K = TensorDims(3)\n  i, j, k = TensorIndexes(3)\n  A.bind_dims(I, K)\n  B.bind_dims(K, J)\n  \
                 C = TensorOutput(I, J)\n  C[i, j] += A[i, k] * B[k, j]\n  return C\n",
                "out0",
            ),
            (Language::Rink, "var input A : [3 4] var input B : [4 5] var output C : [3 5] C = (A # B) . [2 3]", "C"),
        ],
        shapes: &[("A", &[3, 4]), ("B", &[4, 5])],
    });
}

#[test]
fn dot_product() {
    assert_one_program(&Computation {
        texts: [
            (
                Language::Tabla,
                "model_input a[6]; model_input b[6]; model_output s; iterator i[0:6]; s = sum[i](a[i] * b[i]);",
                "s",
            ),
            (Language::TensorComprehensions, "def d(float(N) a, float(N) b) -> (s) { s +=! a(i) * b(i) }", "s"),
            (
                Language::Tile,
                "def d(a, b):\n  N = TensorDim()\n  i = TensorIndex()\n  a.bind_dims(N)\n  b.bind_dims(N)\n  s = TensorOutput()\n  \
                 s[()] += a[i] * b[i]\n  return s\n",
                "out0",
            ),
            (Language::Rink, "var input a : [6] var input b : [6] var output s : [] s = (a # b) . [1 2]", "s"),
        ],
        shapes: &[("a", &[6]), ("b", &[6])],
    });
}

#[test]
fn matrix_times_vector() {
    assert_one_program(&Computation {
        texts: [
            (
                Language::Tabla,
                "model_input A[3][5]; model_input x[5]; model_output y[3]; iterator i[0:3]; iterator j[0:5];
                 y[i] = sum[j](A[i][j] * x[j]);",
                "y",
            ),
            (
                Language::TensorComprehensions,
                "def mv(float(M,N) A, float(N) x) -> (y) { y(i) +=! A(i, j) * x(j) }",
                "y",
            ),
            (
                Language::Tile,
                "def mv(A, x):\n  M, N = TensorDims(2)\n  i, j = TensorIndexes(2)\n  A.bind_dims(M, N)\n  x.bind_dims(N)\n  \
                 y = TensorOutput(M)\n  y[i] += A[i, j] * x[j]\n  return y\n",
                "out0",
            ),
            (Language::Rink, "var input A : [3 5] var input x : [5] var output y : [3] y = (A # x) . [2 3]", "y"),
        ],
        shapes: &[("A", &[3, 5]), ("x", &[5])],
    });
}

#[test]
fn outer_product() {
    assert_one_program(&Computation {
        texts: [
            (
                Language::Tabla,
                "model_input a[3]; model_input b[5]; model_output C[3][5]; iterator i[0:3]; iterator j[0:5]; C[i][j] = a[i] * b[j];",
                "C",
            ),
            (Language::TensorComprehensions, "def o(float(M) a, float(N) b) -> (C) { C(i, j) = a(i) * b(j) }", "C"),
            (
                Language::Tile,
                "def o(a, b):\n  M, N = TensorDims(2)\n  i, j = TensorIndexes(2)\n  a.bind_dims(M)\n  b.bind_dims(N)\n  \
                 C = TensorOutput(M, N)\n  C[i, j] = a[i] * b[j]\n  return C\n",
                "out0",
            ),
            (Language::Rink, "var input a : [3] var input b : [5] var output C : [3 5] C = a # b", "C"),
        ],
        shapes: &[("a", &[3]), ("b", &[5])],
    });
}

/// What nothing reads does not come in: the label of a prediction.
#[test]
fn a_prediction_has_no_labels() {
    let text = "mu = 0.1; model_input x[9]; model_output y; model w[9]; gradient g[9] -> w; iterator i[0:9];
                h = sum[i](w[i] * x[i]); d = h - y; g[i] = d * x[i];";
    let streamed = |result: &str| -> Vec<String> {
        image(&canonical(Language::Tabla, text, &[], result)).tensors.into_iter().map(|tensor| tensor.name).collect()
    };
    assert_eq!(streamed("h"), ["w", "x", "h"]);
    assert_eq!(streamed("d"), ["w", "x", "y", "d"]);
}
