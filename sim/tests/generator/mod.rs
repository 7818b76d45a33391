//! Random TABLA programs.
//!
//!     tape of small numbers ──▶ program text + values
//!
//! Ranks 0 to 3, odd extents, iterators over all, most and few of an extent, constant indices, re-assignment as a whole and in part,
//! one or two models, functions, comparisons, sums, norms and products.

pub(crate) mod agreement;
pub(crate) mod identities;
pub(crate) mod ir;
pub(crate) mod tape;
pub(crate) mod trial;
pub(crate) mod wide;

use sim::ladder::NamedValues;
use tape::Tape;

/// A generated program with the values of a few samples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RandomProgram {
    /// TABLA text.
    pub text: String,
    /// Weights.
    pub model: NamedValues,
    /// Inputs and labels of each sample.
    pub samples: Vec<NamedValues>,
    /// Whether it has gradients, so that a batch makes sense.
    pub trains: bool,
}

/// One step per sample, or one step with all samples of a batch behind each other.
pub(crate) fn steps(samples: &[NamedValues], batch: u32) -> Vec<NamedValues> {
    if batch == 1 {
        return samples.to_vec();
    }
    let mut all = NamedValues::new();
    for sample in samples {
        for (name, values) in sample {
            all.entry(name.clone()).or_default().extend(values);
        }
    }
    vec![all]
}

/// A tensor that can be read: name, and the extent class of each dimension.
#[derive(Clone)]
struct Known {
    name: String,
    classes: Vec<usize>,
}

struct Generator<'a> {
    tape: Tape<'a>,
    extents: Vec<u32>,
    known: Vec<Known>,
}

/// Iterators of an extent: all of it, all but the first, all but the last, the middle.
const PARTS: [char; 4] = ['i', 'p', 'q', 'r'];

impl Generator<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.tape.below(n)
    }

    fn classes(&mut self, most: usize) -> Vec<usize> {
        let rank = self.below(most + 1);
        (0..rank).map(|_| self.below(self.extents.len())).collect()
    }

    /// How many of the iterators of an extent have a value.
    fn parts(&self, class: usize) -> usize {
        match self.extents[class] {
            1 => 1,
            2 => 3,
            _ => 4,
        }
    }

    /// A read of a known tensor, given the iterators that are bound: (name, class).
    fn read(&mut self, bound: &[(String, usize)]) -> String {
        let chosen = self.below(self.known.len());
        let classes = self.known[chosen].classes.clone();
        let mut text = self.known[chosen].name.clone();
        for class in classes {
            let fitting: Vec<&String> = bound.iter().filter(|b| b.1 == class).map(|b| &b.0).collect();
            let subscript = match fitting.len() {
                0 => self.below(self.extents[class] as usize).to_string(),
                n => fitting[self.below(n)].clone(),
            };
            text += &format!("[{subscript}]");
        }
        text
    }

    fn expression(&mut self, bound: &mut Vec<(String, usize)>, depth: usize) -> String {
        if depth == 0 {
            return if self.below(5) == 4 { ["1", "0.5", "2", "0.3"][self.below(4)].into() } else { self.read(bound) };
        }
        match self.below(10) {
            0 | 1 => self.read(bound),
            2 => format!("({} + {})", self.expression(bound, depth - 1), self.expression(bound, depth - 1)),
            3 => format!("({} - {})", self.expression(bound, depth - 1), self.expression(bound, depth - 1)),
            4 => format!("{} * {}", self.expression(bound, depth - 1), self.expression(bound, depth - 1)),
            5 => format!(
                "({} {} {})",
                self.expression(bound, depth - 1),
                ["<", ">"][self.below(2)],
                self.expression(bound, 0)
            ),
            6 => {
                let function = ["sigmoid", "sigmoid_symmetric", "gaussian"][self.below(3)];
                format!("{function}({})", self.expression(bound, depth - 1))
            }
            kind => {
                let class = self.below(self.extents.len());
                let part = self.below(self.parts(class));
                let name = format!("{}{class}", PARTS[part]);
                if bound.iter().any(|b| b.0 == name) {
                    return self.read(bound);
                }
                bound.push((name.clone(), class));
                let inner = self.expression(bound, depth - 1);
                bound.pop();
                let group = match kind {
                    7 => "norm",
                    8 if self.extents[class] <= 3 => "pi",
                    _ => "sum",
                };
                format!("{group}[{name}]({inner})")
            }
        }
    }

    /// The left side of an assignment to these classes, and what it binds. `partly`: some dimensions not as a whole.
    fn left(&mut self, classes: &[usize], partly: bool) -> (String, Vec<(String, usize)>) {
        let (mut text, mut bound) = (String::new(), Vec::new());
        for &class in classes {
            let part = if partly { self.below(self.parts(class) + 1) } else { 0 };
            if part == self.parts(class) {
                let index = self.below(self.extents[class] as usize);
                text += &format!("[{index}]");
            } else {
                let name = format!("{}{class}", PARTS[part]);
                text += &format!("[{name}]");
                bound.push((name, class));
            }
        }
        (text, bound)
    }
}

/// An iterator stands for one dimension: a tensor with the same extent twice has only its first one bound.
fn distinct(classes: Vec<usize>) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for class in classes {
        if !kept.contains(&class) {
            kept.push(class);
        }
    }
    kept
}

fn declare(name: &str, classes: &[usize]) -> String {
    classes.iter().fold(name.to_owned(), |text, class| text + &format!("[n{class}]"))
}

/// A program and values from a tape.
#[expect(clippy::too_many_lines, reason = "a program from its first line to its last: the tape is read in this order")]
pub(crate) fn program(tape: &[u16]) -> RandomProgram {
    let mut generator = Generator { tape: Tape::new(tape), extents: Vec::new(), known: Vec::new() };
    for _ in 0..3 {
        let extent = [1, 2, 3, 5, 7, 8, 9, 12, 17][generator.below(9)];
        generator.extents.push(extent);
    }
    let mut text = String::new();
    for (class, extent) in generator.extents.clone().into_iter().enumerate() {
        text += &format!("n{class} = {extent};\niterator i{class}[0:n{class}];\n");
        let parts = generator.parts(class);
        for (name, range) in
            [('p', format!("1:n{class}")), ('q', format!("0:{}", extent - 1)), ('r', format!("1:{}", extent - 1))]
                .into_iter()
                .take(parts - 1)
        {
            text += &format!("iterator {name}{class}[{range}];\n");
        }
    }
    text += "mu = 0.3;\n";
    let mut given: Vec<Known> = Vec::new();
    for (name, most) in [("x0", 3), ("x1", 2), ("y", 1)] {
        let classes = generator.classes(most);
        let kind = if name == "y" { "model_output" } else { "model_input" };
        text += &format!("{kind} {};\n", declare(name, &classes));
        given.push(Known { name: name.to_owned(), classes });
    }
    let mut models = Vec::new();
    for name in ["w", "v"].into_iter().take(1 + generator.below(2)) {
        let classes = generator.classes(if name == "w" { 3 } else { 1 });
        text += &format!("model {};\n", declare(name, &classes));
        models.push(Known { name: name.to_owned(), classes });
    }
    generator.known.extend(given.iter().chain(&models).cloned());
    let mut assigned: Vec<Known> = Vec::new();
    for number in 0..=generator.below(4) {
        let again = !assigned.is_empty() && generator.below(4) == 3;
        let target = if again {
            assigned[generator.below(assigned.len())].clone()
        } else {
            Known { name: format!("t{number}"), classes: distinct(generator.classes(3)) }
        };
        let (subscripts, mut bound) = generator.left(&target.classes, again);
        let value = generator.expression(&mut bound, 3);
        text += &format!("{}{subscripts} = {value};\n", target.name);
        if !again {
            generator.known.push(target.clone());
            assigned.push(target);
        }
    }
    let (mut gradients, mut assigns) = (0, false);
    for model in &models {
        let is_distinct = distinct(model.classes.clone()).len() == model.classes.len();
        let (name, declaration) = match generator.below(4) {
            0 => continue,
            3 => (model.name.clone(), String::new()),
            _ if !is_distinct => continue,
            _ => {
                let gradient = format!("g{}", model.name);
                let link = format!("gradient {} -> {};\n", declare(&gradient, &model.classes), model.name);
                (gradient, link)
            }
        };
        // Without a gradient the program says itself what the next weights are.
        assigns |= declaration.is_empty();
        gradients += usize::from(!declaration.is_empty());
        let partly = !is_distinct || generator.below(4) == 3;
        let (subscripts, mut bound) = generator.left(&model.classes, partly);
        let value = generator.expression(&mut bound, 3);
        text += &format!("{declaration}{name}{subscripts} = {value};\n");
    }
    let trains = gradients > 0 && !assigns;
    let extents = generator.extents.clone();
    let mut values = |known: &Known| -> (String, Vec<f64>) {
        let elements: usize = known.classes.iter().map(|&class| extents[class] as usize).product();
        (known.name.clone(), (0..elements).map(|_| generator.tape.value()).collect())
    };
    let model = models.iter().map(&mut values).collect();
    let samples = (0..3).map(|_| given.iter().map(&mut values).collect()).collect();
    RandomProgram { text, model, samples, trains }
}
