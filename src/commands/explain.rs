//! `explain`: placement and schedule, by source line; or what a diagnostic code means.

use crate::arguments::{Explain, Format, Global};
use crate::commands::about::code;
use crate::output::{self, Talk};
use crate::{render, subject};
use workbench::documents::Document;
use workbench::report::explanation::{Explained, Explanation};
use workbench::report::layers;
use workbench::report::page::charts;
use workbench::{Failure, report, writing};

/// Print the listing of the training image, or of a function's.
pub fn run(global: &Global, options: &Explain, talk: &Talk) -> Result<(), Failure> {
    let target = &options.target;
    if let Some(code) = code::named(target.program.as_deref())? {
        return code::run(global, code);
    }
    let project = subject::target(global, target)?;
    if project.in_segments() && !options.numbers {
        let plan = subject::segmented(&project, target, talk)?.segmented.plan(&project)?;
        let text = plan.text();
        return output::either(global.format, || text, || Document::new(Explanation::of_segments(plan)));
    }
    let subject = subject::subject(&project, target, talk)?;
    if options.numbers {
        let numbers = report::numbers(subject.parts().1);
        return output::either(
            global.format,
            || report::numbers_text(&numbers),
            || Document::new(Explanation::of_numbers(numbers.clone())),
        );
    }
    let explained = Explained::new(&project, &subject)?;
    if let Some(path) = &options.svg {
        writing::write_file(path, charts::alone(&explained.timeline.svg()).as_bytes())?;
        talk.say(format!("wrote {}", path.display()));
    }
    if global.format == Format::Text {
        render::warnings(&project.source, &layers::warnings(&explained.layers), talk);
    }
    output::either(global.format, || explained.text(), || explained.document())
}
