//! The report page in a browser: it draws without a word on the console, on a desk and on a phone, and asks nobody for anything.

mod tool;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tool::{done, file};

/// A report of a short training; the folder it is in.
fn report(folder: &Path) -> PathBuf {
    let out = folder.join("report");
    let arguments = ["report", "programs/logistic.t", "--data", "examples/breast_cancer.csv", "--config", "tiny"];
    done(&[&arguments[..], &["--epochs", "3", "--quiet", "--out", &out.display().to_string()]].concat());
    out
}

/// The browser that `scripts/setup --ci` installs, or one that is there already; none if setup has found that there cannot be one.
fn browser() -> Option<PathBuf> {
    let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = names.iter().find_map(|name| places.iter().map(|place| place.join(name)).find(|file| file.is_file()));
    let printed =
        Command::new("scripts/setup").arg("--print").current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let tools = PathBuf::from(String::from_utf8(printed.stdout).unwrap().trim());
    assert!(found.is_some() || tools.join("no-browser").exists(), "no Chromium: run scripts/setup --ci");
    found
}

/// Run the browser on a page; what it printed and what it said.
fn browse(browser: &Path, page: &Path, folder: &Path, size: &str) -> (String, String) {
    let mut command = Command::new(browser);
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--enable-logging=stderr",
        "--v=0",
    ]);
    command.args([&profile, &format!("--window-size={size}"), "--dump-dom"]);
    let output = command.arg(format!("file://{}", page.display())).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// What the page says about itself: a probe that is added to a copy of it, because the page itself has no script.
const PROBE: &str = "<script>addEventListener('load', () => {
  const wide = [...document.querySelectorAll('body *')].filter(element => {
    const box = element.getBoundingClientRect();
    return box.right > innerWidth + 1 && !element.closest('.scroll');
  }).map(element => element.tagName);
  const empty = [...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().height < 10).length;
  document.body.setAttribute('data-probe', JSON.stringify({
    width: innerWidth, scroll: document.documentElement.scrollWidth, wide, empty,
    drawings: document.querySelectorAll('svg').length, tables: document.querySelectorAll('table').length,
    text: document.body.innerText.length }));
});</script></body>";

#[test]
fn the_page_fits_a_desk_and_a_phone_and_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = report(folder.path());
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    // One file: nothing is loaded, and the page may not load anything.
    for word in ["http://", "https://", "<script", "@import", "url("] {
        let known = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!known.contains(word), "the page contains {word}");
    }
    assert!(html.contains("default-src 'none'"));
    let Some(browser) = browser() else { return };
    let probed = html
        .replace("default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';")
        .replace("</body>", PROBE);
    let copy = folder.path().join("probed.html");
    fs::write(&copy, probed).unwrap();
    for (size, width) in [("1280,900", 1280.0_f64), ("390,844", 390.0)] {
        let (dom, said) = browse(&browser, &copy, folder.path(), size);
        assert!(!said.contains("CONSOLE"), "{said}");
        let probe =
            dom.split("data-probe=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("the page was laid out");
        let probe: Value = serde_json::from_str(&probe.replace("&quot;", "\"")).unwrap();
        let figure = |name: &str| probe[name].as_f64().unwrap();
        // A headless window may not be narrower than its minimum; then the page must still fit the window.
        assert!(figure("width") <= width.max(500.0), "{probe}");
        assert!(figure("scroll") <= figure("width") + 1.0, "the page is wider than the window: {probe}");
        assert_eq!(probe["wide"], serde_json::json!([]), "{size}");
        assert_eq!(probe["empty"], 0, "{probe}");
        assert!(figure("drawings") >= 6.0 && figure("tables") >= 5.0 && figure("text") > 1000.0, "{probe}");
    }
    // A page with a mistake is noticed: the console is really read.
    let broken = folder.path().join("broken.html");
    fs::write(&broken, html.replace("</body>", "<script>undefined_name()</script></body>")).unwrap();
    let (_, said) = browse(&browser, &broken, folder.path(), "800,600");
    assert!(said.contains("CONSOLE"), "{said}");
}

#[test]
fn page_text_and_json_carry_the_same_figures() {
    let folder = tempfile::tempdir().unwrap();
    let out = report(folder.path());
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let (html, text) = (read("report.html"), read("report.txt"));
    let document: Value = serde_json::from_str(&read("report.json")).unwrap();
    let mut figures = Vec::new();
    for engine in ["golden", "array"] {
        for part in ["train", "test"] {
            let loss = document["training"][part][engine]["loss"].as_f64().unwrap();
            figures.push(format!("{loss:.5}"));
        }
    }
    for line in document["lines"].as_array().unwrap() {
        figures.push(line["cycles"].to_string());
    }
    for row in document["memories"].as_array().unwrap() {
        figures.push(row["used"].to_string());
    }
    for row in document["numbers"].as_array().unwrap() {
        figures.push(row["tensor"].as_str().unwrap().to_owned());
        figures.extend(row["low"].as_f64().map(|low| format!("{low:.5}")));
    }
    for lane in document["timeline"]["lanes"].as_array().unwrap() {
        figures.push(lane["unit"].as_str().unwrap().to_owned());
        figures.push(lane["busy"].to_string());
    }
    for map in document["placement"].as_array().unwrap() {
        figures.push(map["name"].as_str().unwrap().to_owned());
    }
    for figure in figures {
        assert!(html.contains(&figure), "the page lacks {figure}");
        assert!(text.contains(&figure), "the text lacks {figure}");
    }
    // Every weight lies in some engine.
    let maps = document["placement"].as_array().unwrap();
    let weights = maps.iter().find(|map| map["name"] == "w").unwrap()["words"].as_array().unwrap();
    assert!(weights.iter().map(|words| words.as_u64().unwrap()).sum::<u64>() >= 31, "{weights:?}");
}

/// What repeats the run, what was in force, and which classes were confused: the sums of the table are the samples, its diagonal the accuracy.
#[test]
fn the_page_says_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a folder").display().to_string();
    let page = ["report", "softmax", "--data", "iris", "--config", "tiny", "--epochs", "3", "--quiet", "--out", &out];
    done(&page);
    let read = |name: &str| fs::read_to_string(Path::new(&out).join(name)).unwrap();
    let (html, text) = (read("report.html"), read("report.txt"));
    assert!(html.contains(" report softmax --data iris --config tiny --epochs 3 --quiet --out &#x27;"), "the command");
    for row in [
        "<td class=\"code\">epochs</td><td class=\"code any\">3</td>",
        "<td class=\"code\">loss</td><td class=\"code any\">one_hot</td>",
        "<td class=\"code\">standardise</td><td class=\"code any\">true</td>",
    ] {
        assert!(html.contains(row), "the page lacks {row}");
    }
    let training = serde_json::from_str::<Value>(&read("report.json")).unwrap()["training"].take();
    let confusion = &training["confusion"];
    assert_eq!(confusion["classes"], serde_json::json!(["0", "1", "2"]));
    let counts: Vec<Vec<u64>> = serde_json::from_value(confusion["engines"]["array"].clone()).unwrap();
    let (all, right) = (counts.iter().flatten().sum::<u64>(), (0..3).map(|class| counts[class][class]).sum::<u64>());
    // A fifth of 150 rows.
    assert_eq!((all, confusion["part"].as_str()), (30, Some("test")));
    let accuracy = training["test"]["array"]["accuracy"].as_f64().unwrap();
    assert!((accuracy - right as f64 / all as f64).abs() < 1e-12, "{training}");
    for row in counts {
        let cells = row.iter().map(|count| format!("{count:>5}")).collect::<Vec<_>>().join(" ");
        assert!(text.contains(&cells), "the text lacks {cells}");
        for count in row {
            assert!(html.contains(&format!(">{count}</td>")), "the page lacks {count}");
        }
    }
}

/// The curve and the table are of the same samples and the same weights: those of the last epoch, or of the best one where there is a part that judges.
#[test]
fn curves_end_where_the_table_is() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "p.t", fs::read_to_string("programs/logistic.t").unwrap());
    for validation in ["", "validation = 0.2\n"] {
        let settings = fs::read_to_string("programs/logistic.toml").unwrap().replace("mu = 0.02", "mu = 2.0");
        file(folder.path(), "p.toml", settings.replace("[train]\n", &format!("[train]\n{validation}")));
        let data = ["--data", "examples/breast_cancer.csv", "--epochs", "4", "--config", "tiny"];
        let out = folder.path().join("report").display().to_string();
        done(&[&["report", &program, "--quiet", "--out", &out][..], &data].concat());
        let text = fs::read_to_string(Path::new(&out).join("report.json")).unwrap();
        let training = serde_json::from_str::<Value>(&text).unwrap()["training"].take();
        for engine in ["golden", "array"] {
            let curve = training["curves"][engine].as_array().unwrap();
            let is_table = |point: &&Value| ["train", "test"].iter().all(|part| point[part] == training[part][engine]);
            let kept = curve.iter().find(is_table).unwrap_or_else(|| panic!("{engine} {validation}: {curve:?}"));
            // An early epoch of golden's is the best of them.
            if validation.is_empty() || engine == "golden" {
                assert_eq!(kept == curve.last().unwrap(), validation.is_empty(), "{engine}: {kept}");
            }
        }
    }
}

#[test]
fn names_of_the_user_are_no_markup() {
    let folder = tempfile::tempdir().unwrap();
    let source = fs::read_to_string("programs/logistic.t").unwrap();
    let hostile = source.replace("h = sigmoid(h);", "h = sigmoid(h); // </td><script>alert(1)</script>&\"'");
    let program = tool::file(folder.path(), "a<b>&\"c.t", hostile);
    tool::file(folder.path(), "a<b>&\"c.toml", fs::read_to_string("programs/logistic.toml").unwrap());
    let out = folder.path().join("out").display().to_string();
    let data = ["--data", "examples/breast_cancer.csv", "--epochs", "1", "--engine", "fixed", "--quiet", "--out", &out];
    done(&[&["report", &program][..], &data].concat());
    let html = fs::read_to_string(Path::new(&out).join("report.html")).unwrap();
    assert!(!html.contains("<script") && !html.contains("<b>&"), "markup of the user's");
    assert!(html.contains("&lt;script&gt;") && html.contains("a&lt;b&gt;&amp;"));
}
