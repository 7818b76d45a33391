//! A network that somebody differentiated by hand, the same with `minimize`, as a function of each language with a `[train]` table, and as an
//! ONNX model: the same canonical training step, the same microcode.

mod written;

use arch::{Image, Machine, Span};
use compiler::canonical::{Batch, Keep, Options, canonicalise};
use compiler::derived::losses::Loss;
use compiler::derived::optimisers::Optimiser;
use compiler::derived::training::{Measure, Minimised, Training, with_training};
use compiler::fixed::{self, Numbers};
use compiler::language::{self, Language};
use compiler::ranges::Ranges;
use compiler::rounding::Rounding;
use compiler::search::compile;
use compiler::tensor::{Node, Program, Role, Start, TensorId};
use onnx::wire::put_bytes;
use onnx::{File, Reading, Weights};
use written::{info, model, node, tensor};

/// Four inputs, three hidden units, two outputs. All these languages have the exponential function.
const NETWORK: &str = "mu = 0.25; model_input x[4]; model_output y[2]; model v[3][4]; model w[2][3];
    iterator i[0:4]; iterator j[0:3]; iterator k[0:2];
    a[j] = sum[i](v[j][i] * x[i]); h[j] = exp(a[j]);
    b[k] = sum[j](w[k][j] * h[j]); p[k] = exp(b[k]);";

const BY_HAND: &str = "gradient gv[3][4] -> v; gradient gw[2][3] -> w;
    d[k] = p[k] - y[k]; c[k] = d[k] * p[k]; gw[k][j] = c[k] * h[j];
    e[j] = sum[k](c[k] * w[k][j]); f[j] = e[j] * h[j]; gv[j][i] = f[j] * x[i];";

fn training(weights: [&str; 2], prediction: &str) -> Training {
    let objective = Minimised {
        loss: Measure::Library(Loss::Squared),
        prediction: prediction.into(),
        label: None,
        weights: weights.map(str::to_owned).to_vec(),
        rate: Some(0.25),
    };
    Training { objective: Some(objective), optimiser: Optimiser::PLAIN, rounding: Rounding::default() }
}

fn parsed(language: Language, text: &str, options: &language::Options) -> Program {
    language::parse(language, text, options).unwrap_or_else(|errors| panic!("{text}: {errors:?}")).0
}

fn of_onnx() -> Program {
    let weights = |name: &str, shape: &[u64]| {
        let numbers = vec![0; 4 * shape.iter().product::<u64>() as usize];
        tensor(name, shape, |b| put_bytes(b, 9, &numbers))
    };
    let bytes = model(&[
        (1, node("", "MatMul", &["v", "x"], "a")),
        (1, node("", "Exp", &["a"], "h")),
        (1, node("", "MatMul", &["w", "h"], "b")),
        (1, node("", "Exp", &["b"], "p")),
        (5, weights("v", &[3, 4])),
        (5, weights("w", &[2, 3])),
        (11, info("x", &[Ok(4)])),
        (12, info("p", &[Ok(2)])),
    ]);
    let options = language::Options::default();
    let beside = |_: &str| Err("none".to_owned());
    let training = training(["v", "w"], "p");
    let names = training.objective.as_ref().expect("an objective").weights.clone();
    let reading = Reading { options: &options, given: &[], beside: &beside, weights: Weights::Named(&names) };
    let (program, warnings) = File::decode(&bytes).expect("a model").program(&reading).expect("a program");
    assert!(warnings.is_empty(), "{warnings:?}");
    with_training(&program, &training).expect("it is trained")
}

/// The canonical training step, without what sources call things and in which order they declare them.
fn step(program: &Program) -> Program {
    let keep = Keep::Training { predictions: Vec::new() };
    let mut program = canonicalise(program, &Options { keep, batch: Batch::SINGLE }).expect("a training step");
    // By the order in which the step meets them.
    let mut order: Vec<TensorId> = Vec::new();
    let mut met = |id: TensorId| {
        let number = order.iter().position(|&known| known == id).unwrap_or_else(|| {
            order.push(id);
            order.len() - 1
        });
        TensorId(number)
    };
    for nest in &mut program.nests {
        for node in &mut nest.body.nodes {
            if let Node::Read { tensor, .. } | Node::Gather { tensor, .. } = node {
                *tensor = met(*tensor);
            }
        }
        if let Start::Element { tensor, .. } = &mut nest.start {
            *tensor = met(*tensor);
        }
        nest.out = met(nest.out);
        nest.origin = arch::Origin::default();
        for (number, iterator) in nest.iterators.iter_mut().enumerate() {
            iterator.name = format!("i{number}");
        }
    }
    for update in &mut program.updates {
        (update.state, update.next) = (met(update.state), met(update.next));
    }
    program.updates.sort_by_key(|update| update.state);
    program.names.clear();
    let mut tensors: Vec<_> = order.iter().map(|id| program.tensors[id.0].clone()).collect();
    assert_eq!(tensors.len(), program.tensors.len(), "no tensor beside the step");
    for (number, tensor) in tensors.iter_mut().enumerate() {
        (tensor.name, tensor.span) = (format!("t{number}"), Span::default());
        if matches!(tensor.role, Role::Output | Role::Gradient(_)) {
            tensor.role = Role::Temporary;
        }
    }
    program.tensors = tensors;
    program
}

/// The microcode, when all values lie in -4..4.
fn image(program: &Program) -> Image {
    let machine = Machine::grid(2, 4, 16).expect("a grid");
    let ranges = Ranges::of_tensors(vec![Some((-4.0, 4.0)); program.tensors.len()]);
    let (words, _) = fixed::lower(program, &ranges, &Numbers::of_machine(&machine)).expect("it has binary points");
    compile(&words, &machine).expect("it fits").image
}

/// All give the first one's step and microcode.
fn are_one_step(sources: &[(&str, Program)]) {
    let steps: Vec<_> = sources.iter().map(|(name, program)| (name, step(program))).collect();
    let (_, first) = &steps[0];
    let code = image(first);
    assert!(!code.alu.is_empty());
    for (name, other) in &steps[1..] {
        assert_eq!(other.to_string(), first.to_string(), "{name} is another step");
        assert_eq!(other, first, "{name}");
        let other = image(other);
        assert_eq!(other.control_writes(), code.control_writes(), "{name}");
        assert_eq!((other.entries, other.step_length), (code.entries, code.step_length), "{name}");
        assert_eq!((&other.step_in, &other.step_out), (&code.step_in, &code.step_out), "{name}");
    }
}

#[test]
fn all_sources_of_a_network_are_one_training_step() {
    let none = language::Options::default();
    let function = "def net(float(4) X, float(3,4) V, float(2,3) W) -> (A, H, B, P) {
        A(j) +=! V(j, i) * X(i)
        H(j) = exp(A(j))
        B(k) +=! W(k, j) * H(j)
        P(k) = exp(B(k))
    }";
    let trained = language::Options { training: Some(training(["V", "W"], "P")), ..none.clone() };
    let tile = "def net(X, V, W):\n  N, M, L = TensorDims(3)\n  i, j, k = TensorIndexes(3)\n  X.bind_dims(N)\n  V.bind_dims(M, N)\n  \
                W.bind_dims(L, M)\n  A = TensorOutput(M)\n  A[j] += V[j, i] * X[i]\n  H = exp(A)\n  B = TensorOutput(L)\n  \
                B[k] += W[k, j] * H[j]\n  return exp(B)\n";
    let shapes: [(&str, &[u32]); 3] = [("X", &[4]), ("V", &[3, 4]), ("W", &[2, 3])];
    let tiled = language::Options {
        shapes: shapes.map(|(name, shape)| (name.to_owned(), shape.to_vec())).to_vec(),
        training: Some(training(["V", "W"], "out0")),
        ..none.clone()
    };
    are_one_step(&[
        ("by hand", parsed(Language::Tabla, &format!("{NETWORK} {BY_HAND}"), &none)),
        ("minimize", parsed(Language::Tabla, &format!("{NETWORK} minimize squared(p, y);"), &none)),
        ("Tensor Comprehensions", parsed(Language::TensorComprehensions, function, &trained)),
        ("Tile", parsed(Language::Tile, tile, &tiled)),
        ("ONNX", of_onnx()),
    ]);
}

/// Rink's language has no functions: squares in their place.
#[test]
fn a_network_of_rink_is_the_same_training_step() {
    let none = language::Options::default();
    let written = NETWORK.replace("exp(a[j])", "a[j] * a[j]").replace("exp(b[k])", "b[k] * b[k]");
    let by_hand = "gradient gv[3][4] -> v; gradient gw[2][3] -> w;
        d[k] = p[k] - y[k]; c[k] = d[k] * b[k] + d[k] * b[k]; gw[k][j] = c[k] * h[j];
        e[j] = sum[k](c[k] * w[k][j]); f[j] = e[j] * a[j] + e[j] * a[j]; gv[j][i] = f[j] * x[i];";
    let rink = "var input X : [4] var input V : [3 4] var input W : [2 3] var output P : [2] var A : [3] var H : [3] var B : [2]
        A = (V # X) . [2 3]  H = A * A  B = (W # H) . [2 3]  P = B * B";
    let trained = language::Options { training: Some(training(["V", "W"], "P")), ..none.clone() };
    are_one_step(&[
        ("by hand", parsed(Language::Tabla, &format!("{written} {by_hand}"), &none)),
        ("minimize", parsed(Language::Tabla, &format!("{written} minimize squared(p, y);"), &none)),
        ("Rink", parsed(Language::Rink, rink, &trained)),
    ]);
}
