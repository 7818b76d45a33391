//! One program per diagnostic code, beside what the front end says about it: `tests/diagnostics/CODE.EXTENSION` and `CODE.expect`.
//!
//! Each line of an expectation is `line:column code message`. `ACCEPT=1 cargo test -p compiler --test diagnostics` writes the expectations anew;
//! look at the difference before committing it.

use arch::Diagnostic;
use arch::diagnostic::line_column;
use compiler::language::{Language, Options, parse};
use std::fmt::Write;
use std::path::Path;

fn rendered(text: &str, diagnostics: &[Diagnostic]) -> String {
    let mut lines = String::new();
    for diagnostic in diagnostics {
        let (line, column) = diagnostic.span.map_or((0, 0), |span| line_column(text, span.start));
        let _ = writeln!(lines, "{line}:{column} {} {}", diagnostic.code, diagnostic.message);
        if let Some(help) = &diagnostic.help {
            let _ = writeln!(lines, "    help: {help}");
        }
    }
    lines
}

#[test]
fn each_code_is_reported_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/diagnostics");
    let accept = std::env::var_os("ACCEPT").is_some();
    let mut wrong = String::new();
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("the folder is there").map(|e| e.expect("a file").path()).collect();
    paths.sort();
    for path in paths {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let Some(language) = Language::of_extension(extension) else { continue };
        let text = std::fs::read_to_string(&path).expect("a text");
        let (Ok((_, diagnostics)) | Err(diagnostics)) = parse(language, &text, &Options::default());
        let found = rendered(&text, &diagnostics);
        let code = path.file_stem().and_then(|stem| stem.to_str()).expect("a file name");
        assert!(
            diagnostics.iter().any(|diagnostic| code.starts_with(diagnostic.code.as_str())),
            "{} does not report {code}:\n{found}",
            path.display()
        );
        let expectation = path.with_extension("expect");
        if accept {
            std::fs::write(&expectation, &found).expect("the expectation can be written");
        }
        let expected = std::fs::read_to_string(&expectation).unwrap_or_default();
        if found != expected {
            let _ = writeln!(wrong, "== {code}: found\n{found}-- expected\n{expected}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
