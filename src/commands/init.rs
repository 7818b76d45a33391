//! `init`: a new project folder that works at once: program, settings, config, data.

use crate::arguments::{Global, Init, TemplateName};
use crate::output::{self, Talk};
use arch::Machine;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use workbench::adapted::{self, slower};
use workbench::documents::Document;
use workbench::functions::is_function;
use workbench::writing::{self, Files};
use workbench::{Choices, Data, Failure, Project, Records, Request, Subject, library};

/// A new project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Begun {
    /// Its folder.
    folder: String,
    /// Files in it.
    files: Vec<String>,
}

/// A project to begin with.
struct Template {
    /// What it is, for people.
    title: &'static str,
    /// Name of the program's file.
    model: &'static str,
    program: Content,
    settings: Content,
    /// Name of the data's file, what it holds, and the text.
    data: (&'static str, &'static str, Content),
    readme: &'static str,
    /// What to try first, without its configuration.
    first: &'static str,
}

/// Where a file of a template is from.
enum Content {
    /// Here.
    Text(&'static str),
    /// A file that is shipped.
    Shipped(&'static str),
    /// An ONNX model.
    Bytes(&'static [u8]),
    /// Two made-up classes.
    Classes,
    /// Irises with the names of their classes.
    Irises,
}

/// The classes of `examples/iris.csv` by their numbers.
const IRISES: [&str; 3] = ["setosa", "versicolor", "virginica"];

const TRAINING: &str = include_str!("../template/README.md");
const TABLE: &str = "data.csv";
const TRAIN: &str = "train --data data.csv";

impl Template {
    /// The template of a name.
    fn of(name: TemplateName) -> Template {
        let shipped = |title, program, settings, what, data| Template {
            title,
            model: "model.t",
            program: Content::Shipped(program),
            settings: Content::Shipped(settings),
            data: (TABLE, what, data),
            readme: TRAINING,
            first: TRAIN,
        };
        match name {
            TemplateName::Binary => Template {
                title: "two classes",
                model: "model.t",
                program: Content::Text(include_str!("../template/model.t")),
                settings: Content::Text(include_str!("../template/model.toml")),
                data: (TABLE, "made-up samples of two classes", Content::Classes),
                readme: TRAINING,
                first: TRAIN,
            },
            TemplateName::Multiclass => {
                let (program, settings) = ("programs/softmax.t", "programs/softmax.toml");
                shipped("several classes", program, settings, "three classes of iris, by name", Content::Irises)
            }
            TemplateName::Regression => {
                let (program, settings) = ("programs/linear.t", "programs/linear.toml");
                let data = Content::Shipped("examples/diabetes.csv");
                shipped("regression", program, settings, "progression of diabetes in a year", data)
            }
            TemplateName::Network => {
                let (program, settings) = ("programs/backpropagation.t", "programs/backpropagation.toml");
                let what = "three classes of iris, by name";
                shipped("a network of two layers", program, settings, what, Content::Irises)
            }
            TemplateName::Onnx => Template {
                title: "an ONNX model that is trained further",
                model: "model.onnx",
                program: Content::Bytes(include_bytes!("../../examples/digits_mlp.onnx")),
                settings: Content::Text(include_str!("../template/onnx/model.toml")),
                data: (TABLE, "images of digits", Content::Shipped("examples/digits.csv")),
                readme: TRAINING,
                first: TRAIN,
            },
            TemplateName::Function => Template {
                title: "a function",
                model: "model.tc",
                program: Content::Text(include_str!("../template/function/model.tc")),
                settings: Content::Text(include_str!("../template/function/model.toml")),
                data: ("inputs.json", "a record", Content::Text(include_str!("../template/function/inputs.json"))),
                readme: include_str!("../template/function/README.md"),
                first: "sim --inputs inputs.json --engine array",
            },
        }
    }

    /// The page that explains the project.
    fn readme(&self) -> String {
        let what = if self.model == "model.onnx" { "network with its weights" } else { "training step" };
        let named = [("@TITLE@", self.title), ("@MODEL@", self.model), ("@WHAT@", what), ("@DATA@", self.data.1)];
        named.iter().fold(self.readme.to_owned(), |text, (name, value)| text.replace(name, value))
    }
}

impl Content {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Content::Text(text) => text.as_bytes().to_owned(),
            Content::Shipped(path) => library::shipped_text(path).as_bytes().to_owned(),
            Content::Bytes(bytes) => bytes.to_vec(),
            Content::Classes => classes().into_bytes(),
            Content::Irises => irises().into_bytes(),
        }
    }
}

/// The machine: that of a shipped configuration, or a small one without a board. Program, data and folder are the project's.
fn board(asked: Option<&Path>, template: &Template) -> Result<String, Failure> {
    let text = match asked {
        Some(name) => library::read(&library::find_config(name)?)?.text,
        None => include_str!("../template/board.toml").to_owned(),
    };
    // Records are no table: they are named on the command line.
    let table = template.data.0 == TABLE;
    let data = if table { format!("data = {TABLE:?}\n") } else { String::new() };
    let mut lines = String::new();
    for line in text.lines() {
        match line.split_once('=').map(|(key, _)| key.trim()) {
            Some("program") => lines.push_str(&format!("program = {:?}\n", template.model)),
            // Files and depths are those of another program; depths that are left out are fitted to this one.
            Some(
                "data" | "out" | "model_depth" | "data_depth" | "temporary_depth" | "gradient_depth" | "program_depth",
            ) => {}
            _ => {
                lines.push_str(line);
                lines.push('\n');
                if line.trim() == "[build]" {
                    lines.push_str(&format!("{data}out = \"out\"\n"));
                }
            }
        }
    }
    Ok(lines)
}

/// Write the project.
pub fn run(global: &Global, options: &Init, talk: &Talk) -> Result<(), Failure> {
    let folder = &options.folder;
    let occupied = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(Failure::file("write", folder, &error)),
    };
    if occupied {
        return Err(Failure::File(format!("{} exists and is not empty: nothing was written", folder.display())));
    }
    let template = Template::of(options.template);
    let mut files = Files::new();
    files.add(template.model, template.program.bytes());
    files.add("model.toml", template.settings.bytes());
    files.add("board.toml", board(options.board.as_deref(), &template)?);
    files.add("README.md", template.readme());
    files.add(template.data.0, template.data.2.bytes());
    files.write(folder, &global.guard)?;
    if options.board.is_some()
        && let Some((clock_mhz, machine)) = routable(folder, &template)
    {
        let path = folder.join("board.toml");
        let adapted = adapted::text(&library::read(&path)?.text, clock_mhz, machine.as_ref(), &[]);
        writing::write_file(&path, adapted.as_bytes())?;
    }
    let folder = folder.display().to_string();
    talk.say(format!("wrote {folder}; try: cd {folder} && tabla-gen {} --config board.toml", template.first));
    let names: Vec<String> = files.names().map(|path: &Path| path.display().to_string()).collect();
    output::either(
        global.format,
        || names.iter().fold(String::new(), |text, name| text + name + "\n"),
        || Document::new(Begun { folder: folder.clone(), files: names.clone() }),
    )
}

/// What place and route can do with this program: a clock, and a smaller grid if it would have no room with that of the configuration, whose clock
/// and grid were measured with another program. What is wrong with the project is said when it is used.
fn routable(folder: &Path, template: &Template) -> Option<(f64, Option<Machine>)> {
    let project = Project::open(&Request { config: Some(folder.join("board.toml")), ..Request::default() }).ok()?;
    project.board.facts()?.io.as_ref()?;
    let subject = if is_function(&project, false, false).ok()? {
        let records = Records::open(&folder.join(template.data.0)).ok()?;
        Subject::function(&project, Some(&records), &())
    } else {
        Subject::training(&project, &Data::default(), &Choices::default(), &())
    };
    Some((slower(project.board.clock_mhz), subject.ok()?.routable(&project)))
}

/// The irises with the names of their classes in place of numbers.
fn irises() -> String {
    let named = |line: &str| match line.rsplit_once(',') {
        Some((features, class)) => {
            let name = class.parse().ok().and_then(|class: usize| IRISES.get(class));
            format!("{features},{}\n", name.unwrap_or(&class))
        }
        None => format!("{line}\n"),
    };
    library::shipped_text("examples/iris.csv").lines().map(named).collect()
}

/// Two made-up classes of points in the plane, and a feature that says nothing; the same every time.
fn classes() -> String {
    let mut state = 7u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31) - 0.5
    };
    let mut text = "height,width,noise,target\n".to_owned();
    for row in 0..240 {
        let class = row % 2;
        let side = if class == 0 { -1.0 } else { 1.0 };
        let (height, width) = (1.5 * side + 4.0 * noise(), -side + 4.0 * noise());
        text.push_str(&format!("{height:.3},{width:.3},{:.3},{class}\n", 2.0 * noise()));
    }
    text
}
