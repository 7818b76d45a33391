//! Random TABLA programs.
//!
//!     tape of small numbers ──▶ program text + values
//!
//! Every decision of the generator takes the next number of a tape, so a shorter tape with smaller numbers is a simpler
//! program: that is how failures shrink.

use sim::ladder::Values;

/// A generated program with the values of a few samples.
#[derive(Debug, Clone)]
pub(crate) struct RandomProgram {
    /// TABLA text.
    pub text: String,
    /// Weights.
    pub model: Values,
    /// Inputs and labels of each sample.
    pub samples: Vec<Values>,
    /// Whether it has gradients, so that a batch makes sense.
    pub trains: bool,
}

impl RandomProgram {
    /// One step per sample, or one step with all samples of a batch behind each other.
    pub(crate) fn steps(&self, batch: u32) -> Vec<Values> {
        if batch == 1 {
            return self.samples.clone();
        }
        let mut all = Values::new();
        for sample in &self.samples {
            for (name, values) in sample {
                all.entry(name.clone()).or_default().extend(values);
            }
        }
        vec![all]
    }
}

/// A tensor that can be read: name, and the extent class of each dimension.
struct Known {
    name: String,
    classes: Vec<usize>,
}

struct Generator<'a> {
    tape: std::slice::Iter<'a, u16>,
    extents: Vec<u32>,
    known: Vec<Known>,
}

impl Generator<'_> {
    /// A number below `n`; 0 when the tape has ended.
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.tape.next().copied().unwrap_or(0)) % n.max(1)
    }

    fn classes(&mut self, most: usize) -> Vec<usize> {
        let rank = self.below(most + 1);
        (0..rank).map(|_| self.below(self.extents.len())).collect()
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
                // Full or partial range; a name that is not bound yet.
                let part = if self.extents[class] > 1 { self.below(2) } else { 0 };
                let name = format!("{}{class}", ["i", "p"][part]);
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
}

fn declare(name: &str, classes: &[usize]) -> String {
    classes.iter().fold(name.to_owned(), |text, class| text + &format!("[n{class}]"))
}

fn subscripts(bound: &[(String, usize)]) -> String {
    bound.iter().fold(String::new(), |text, (name, _)| text + &format!("[{name}]"))
}

/// A program and values from a tape.
pub(crate) fn program(tape: &[u16]) -> RandomProgram {
    let mut generator = Generator { tape: tape.iter(), extents: Vec::new(), known: Vec::new() };
    for _ in 0..3 {
        let extent = [1, 2, 3, 5, 7, 8, 9, 12, 17][generator.below(9)];
        generator.extents.push(extent);
    }
    let mut text = String::new();
    for (class, extent) in generator.extents.clone().into_iter().enumerate() {
        text += &format!("n{class} = {extent};\niterator i{class}[0:n{class}];\n");
        if extent > 1 {
            text += &format!("iterator p{class}[1:n{class}];\n");
        }
    }
    text += "mu = 0.3;\n";
    let mut given: Vec<(String, Vec<usize>)> = Vec::new();
    for input in 0..2 {
        let classes = generator.classes(if input == 0 { 3 } else { 2 });
        text += &format!("model_input {};\n", declare(&format!("x{input}"), &classes));
        given.push((format!("x{input}"), classes));
    }
    text += "model_output y;\n";
    given.push(("y".into(), Vec::new()));
    let model_classes = generator.classes(2);
    text += &format!("model {};\n", declare("w", &model_classes));
    for (name, classes) in &given {
        generator.known.push(Known { name: name.clone(), classes: classes.clone() });
    }
    generator.known.push(Known { name: "w".into(), classes: model_classes.clone() });
    let statements = 1 + generator.below(4);
    for number in 0..statements {
        let classes = generator.classes(2);
        let distinct = classes.len() < 2 || classes[0] != classes[1];
        let classes = if distinct { classes } else { classes[..1].to_vec() };
        let mut bound: Vec<(String, usize)> = classes.iter().map(|&class| (format!("i{class}"), class)).collect();
        let value = generator.expression(&mut bound, 3);
        let subscripts = subscripts(&bound);
        text += &format!("t{number}{subscripts} = {value};\n");
        generator.known.push(Known { name: format!("t{number}"), classes });
    }
    let distinct = model_classes.len() < 2 || model_classes[0] != model_classes[1];
    let trains = distinct && generator.below(3) > 0;
    if trains {
        text += &format!("gradient {} -> w;\n", declare("g", &model_classes));
        let part = usize::from(generator.below(4) == 3);
        let names = |class: usize| if generator.extents[class] > 1 { ["i", "p"][part] } else { "i" };
        let mut bound: Vec<(String, usize)> =
            model_classes.iter().map(|&class| (format!("{}{class}", names(class)), class)).collect();
        let value = generator.expression(&mut bound, 3);
        let subscripts = subscripts(&bound);
        text += &format!("g{subscripts} = {value};\n");
    }
    let extents = generator.extents.clone();
    let mut value = |_: usize| (generator.below(65) as f64 - 32.0) / 16.0;
    let mut values = |classes: &[usize]| -> Vec<f64> {
        let elements: usize = classes.iter().map(|&class| extents[class] as usize).product();
        (0..elements).map(&mut value).collect()
    };
    let model = Values::from([("w".to_owned(), values(&model_classes))]);
    let samples =
        (0..3).map(|_| given.iter().map(|(name, classes)| (name.clone(), values(classes))).collect()).collect();
    RandomProgram { text, model, samples, trains }
}
