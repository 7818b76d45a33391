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

/// Run the browser on a page, with a window of this size; what it printed and what it said.
fn browse(browser: &Path, page: &Path, folder: &Path, size: &str, what: &str) -> (String, String) {
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
    command.args([&profile, &format!("--window-size={size}"), what]);
    let output = command.arg(format!("file://{}", page.display())).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// What the page says about itself: a probe that is added to a copy of it, because the page itself has no script. Contrast as WCAG 2 defines it.
const PROBE: &str = r"<script>addEventListener('load', () => {
  const width = document.documentElement.getBoundingClientRect().width;
  const wide = [...document.querySelectorAll('body *')].filter(element => {
    const box = element.getBoundingClientRect();
    return box.right > width + 1 && !element.closest('.scroll');
  }).map(element => element.tagName);
  const empty = [...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().height < 10).length;
  const luminance = colour => {
    const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map(value => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    if (element.matches('.onbar')) return getComputedStyle(element.previousElementSibling).fill;
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/^rgba\(.*, 0\)$|transparent/.test(colour)) return colour;
    }
  };
  const faint = [];
  let smallest = 100;
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim() !== '');
    if (!own || element.matches('title, script, style')) continue;
    const style = getComputedStyle(element), drawn = element instanceof SVGElement;
    const size = parseFloat(style.fontSize) * (drawn ? Math.hypot(element.getScreenCTM().a, element.getScreenCTM().b) : 1);
    smallest = Math.min(smallest, size);
    const [light, dark] = [luminance(drawn ? style.fill : style.color), luminance(behind(element))].sort((a, b) => b - a);
    if ((light + 0.05) / (dark + 0.05) < 4.5) faint.push(element.outerHTML.slice(0, 80));
  }
  // What scrolls can be reached with the keyboard.
  const unreachable = [...document.querySelectorAll('.scroll')].filter(area => area.tabIndex !== 0).length;
  document.body.setAttribute('data-probe', JSON.stringify({
    width, scroll: document.documentElement.scrollWidth, wide, empty, faint, smallest, unreachable,
    drawings: document.querySelectorAll('svg').length, tables: document.querySelectorAll('table').length,
    text: document.body.innerText.length }));
});</script></body>";

/// The page with the probe in it, as wide as a device; a headless window cannot be as narrow as a phone.
fn probed(html: &str, width: u32, dark: bool) -> String {
    let html = html
        .replace("default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';")
        .replace("</head>", &format!("<style>html {{ width: {width}px }}</style></head>"))
        .replace("</body>", PROBE);
    let scheme = "@media (prefers-color-scheme: dark)";
    assert!(html.contains(scheme));
    html.replace(scheme, if dark { "@media all" } else { "@media not all" })
}

/// What the probe found.
fn probe(browser: &Path, folder: &Path, html: &str) -> Value {
    let copy = folder.join("probed.html");
    fs::write(&copy, html).unwrap();
    let (dom, said) = browse(browser, &copy, folder, "1280,900", "--dump-dom");
    assert!(!said.contains("CONSOLE"), "{said}");
    let probe =
        dom.split("data-probe=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("the page was laid out");
    serde_json::from_str(&probe.replace("&quot;", "\"").replace("&lt;", "<").replace("&amp;", "&")).unwrap()
}

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
    for (width, dark) in [(1264, false), (390, false), (390, true)] {
        let probe = probe(&browser, folder.path(), &probed(&html, width, dark));
        let figure = |name: &str| probe[name].as_f64().unwrap();
        assert_eq!(figure("width"), f64::from(width));
        assert!(figure("scroll") <= 1280.0, "the page is wider than the window: {probe}");
        assert_eq!(
            (&probe["wide"], &probe["faint"]),
            (&serde_json::json!([]), &serde_json::json!([])),
            "{width} {dark}"
        );
        assert_eq!((&probe["empty"], &probe["unreachable"]), (&0.into(), &0.into()), "{probe}");
        assert!(figure("smallest") >= 11.0, "{probe}");
        assert!(figure("drawings") >= 8.0 && figure("tables") >= 5.0 && figure("text") > 1000.0, "{probe}");
    }
    // Mistakes are noticed: small letters, pale ones, what nobody can scroll to, what the console says.
    let spoilt = "<style>.chart text { font-size: 30px } figcaption { color: #999 !important }</style></head>";
    let html_spoilt = probed(&html, 390, false).replace("</head>", spoilt).replacen("tabindex=\"0\"", "", 1);
    let spoilt = probe(&browser, folder.path(), &html_spoilt);
    assert!(spoilt["smallest"].as_f64().unwrap() < 11.0 && spoilt["unreachable"] == 1, "{spoilt}");
    assert!(!spoilt["faint"].as_array().unwrap().is_empty(), "{spoilt}");
    let broken = folder.path().join("broken.html");
    fs::write(&broken, html.replace("</body>", "<script>undefined_name()</script></body>")).unwrap();
    let (_, said) = browse(&browser, &broken, folder.path(), "800,600", "--dump-dom");
    assert!(said.contains("CONSOLE"), "{said}");
}

/// Grey of the blocks of a picture, row by row: what is left of it when letters are blurred.
fn blocks(picture: &Path) -> Vec<f64> {
    const SIDE: usize = 16;
    let mut reader = png::Decoder::new(std::io::BufReader::new(fs::File::open(picture).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let (width, bytes) = (info.width as usize, info.color_type.samples());
    let grey =
        |pixel: &[u8]| pixel[..bytes.min(3)].iter().map(|&value| f64::from(value)).sum::<f64>() / bytes.min(3) as f64;
    let (columns, rows) = (width / SIDE, info.height as usize / SIDE);
    let mut sums = vec![0.0; columns * rows];
    for (number, pixel) in pixels.chunks_exact(bytes).enumerate() {
        let (row, column) = (number / width / SIDE, number % width / SIDE);
        if row < rows && column < columns {
            sums[row * columns + column] += grey(pixel) / (SIDE * SIDE) as f64;
        }
    }
    sums
}

/// Grey blocks of a picture, as a picture.
fn write_blocks(file: &Path, blocks: &[f64], columns: u32) {
    let mut encoder = png::Encoder::new(fs::File::create(file).unwrap(), columns, blocks.len() as u32 / columns);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_compression(png::Compression::High);
    let bytes: Vec<u8> = blocks.iter().map(|&grey| grey.round() as u8).collect();
    encoder.write_header().unwrap().write_image_data(&bytes).unwrap();
}

/// The page looks as it did: a photograph, in blocks of 16 x 16 pixels, beside the one that was kept. `TABLA_PHOTOGRAPH=1` keeps another one.
#[test]
fn the_page_looks_as_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let html = fs::read_to_string(report(folder.path()).join("report.html")).unwrap();
    let Some(browser) = browser() else { return };
    // The command has the name of a folder in it, which is another one every time.
    let plain = |html: &str| html.split("<code>").next().unwrap().to_owned() + "</p></main></body></html>";
    let photograph = |html: &str, dark: bool| {
        let (page, picture) = (folder.path().join("page.html"), folder.path().join("page.png"));
        let scheme = "@media (prefers-color-scheme: dark)";
        fs::write(&page, html.replace(scheme, if dark { "@media all" } else { "@media not all" })).unwrap();
        browse(&browser, &page, folder.path(), "1280,1600", &format!("--screenshot={}", picture.display()));
        blocks(&picture)
    };
    let far = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / a.len() as f64;
    for (name, dark) in [("light", false), ("dark", true)] {
        let kept = Path::new("tests/page").join(format!("{name}.png"));
        let now = photograph(&plain(&html), dark);
        if std::env::var_os("TABLA_PHOTOGRAPH").is_some() {
            write_blocks(&kept, &now, 1280 / 16);
        }
        let before = whole(&kept);
        assert_eq!(now.len(), before.len());
        // Another release of the browser, or other fonts, blur it by one or two levels of 256.
        assert!(far(&now, &before) < 4.0, "{name}: {} levels", far(&now, &before));
        let spoilt = photograph(&plain(&html).replace("<style>", "<style>.tiles { display: none !important }"), dark);
        assert!(far(&spoilt, &before) > 4.0, "{name}: without its head figures {} levels", far(&spoilt, &before));
    }
}

/// The pixels of a picture in grey.
fn whole(picture: &Path) -> Vec<f64> {
    let mut reader = png::Decoder::new(std::io::BufReader::new(fs::File::open(picture).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    pixels.into_iter().map(f64::from).collect()
}

#[test]
fn page_text_and_json_carry_the_same_figures() {
    let folder = tempfile::tempdir().unwrap();
    let out = report(folder.path());
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let (html, text, trace) = (read("report.html"), read("report.txt"), read("timeline.json"));
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
        let tensor = row["tensor"].as_str().unwrap();
        // What the compiler calls a temporary is nobody's name.
        if tensor.contains('.') {
            // Only a line about clipped values has it, which `[numbers.fractions]` asks for.
            let shown = |text: &str| text.lines().any(|line| line.contains(tensor) && !line.contains(" clipped to "));
            let seen = [&html, &text, &trace].map(|text| shown(text));
            assert_eq!(seen, [false; 3], "{tensor} is in page, text or trace");
        } else {
            figures.push(tensor.to_owned());
        }
        figures.extend(row["low"].as_f64().map(|low| format!("{low:.5}")));
    }
    for lane in document["timeline"]["lanes"].as_array().unwrap() {
        figures.push(lane["unit"].as_str().unwrap().to_owned());
        figures.push(lane["busy"].to_string());
    }
    for map in document["placement"].as_array().unwrap() {
        figures.push(map["name"].as_str().unwrap().to_owned());
    }
    // Resources are those of some family; which one is said where no board says it.
    figures.push("no board: cells of Lattice ECP5".to_owned());
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
        "<td class=\"code\">loss</td><td class=\"code any\">cross_entropy</td>",
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

/// Widths of words, energy and the die are there if they are known, and only then.
#[test]
fn the_page_has_what_is_known_besides() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let tiny = fs::read_to_string("configs/tiny.toml").unwrap();
    let config = file(folder.path(), "c.toml", format!("{tiny}\n[board]\nwatts = 2.5\n"));
    let data = ["--data", "examples/breast_cancer.csv", "--epochs", "2", "--quiet", "--out"];
    let page = |config: &str, words: &str| {
        let arguments = ["report", "programs/logistic.t", "--config", config, "--words", words];
        done(&[&arguments[..], &data, &[&out.display().to_string()]].concat());
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        (read("report.html"), read("report.txt"), serde_json::from_str::<Value>(&read("report.json")).unwrap())
    };
    let (html, text, document) = page("tiny", "16");
    assert!(html.contains("<code>watts</code>") && !html.contains("joules") && !html.contains("On the device"));
    assert!(document["training"].get("joules").is_none() && !text.contains("J per sample"));

    fs::create_dir(out.join("fpga")).unwrap();
    fs::write(out.join("fpga/die.svg"), "<svg xmlns=\"http://www.w3.org/2000/svg\"><script/></svg>").unwrap();
    let (html, text, document) = page(&config, "8,16,200");
    // An image, so what is in it is no part of the page.
    assert!(html.contains("<img src=\"data:image"), "the die");
    assert!(!html.contains("<script") && !html.contains("<code>watts</code>") && html.contains("loss by microjoules"));
    let figure = |path: &str| document.pointer(path).and_then(Value::as_f64).unwrap();
    // Power times time, and time is cycles over the clock.
    let joules = 2.5 * figure("/training/cycles") / 100e6;
    assert!((figure("/training/joules") - joules).abs() < 1e-15, "{joules}");
    assert!((figure("/training/joules_per_sample") * figure("/training/samples") - joules).abs() < 1e-15);
    assert!(text.contains(&format!("{joules:.3e} J in all")) && text.contains("at 2.5 W"), "{text}");
    // 16 bits are what the training itself was done in; 200 are too many.
    let words = document["words"].as_array().unwrap();
    let bits: Vec<u64> = words.iter().map(|row| row["word"].as_u64().unwrap()).collect();
    assert_eq!(bits, [8, 16, 200]);
    assert_eq!(words[1]["fixed"]["test"]["loss"], document["training"]["test"]["array"]["loss"]);
    assert!(words[0]["fixed"]["test"]["loss"].as_f64() > words[1]["fixed"]["test"]["loss"].as_f64());
    let refused = words[2]["refused"].as_str().unwrap();
    assert!(html.contains("200 bits: ") && !refused.is_empty(), "{refused}");
    // The waves: a PE multiplies, and what it has multiplied is in its sum.
    let signals = document["waveform"]["signals"].as_array().unwrap();
    let signal = |name: &str| -> Vec<i64> {
        let found =
            signals.iter().find(|signal| signal["name"] == name).unwrap_or_else(|| panic!("{name}: {signals:?}"));
        found["values"].as_array().unwrap().iter().map(|value| value.as_str().unwrap().parse().unwrap()).collect()
    };
    let [a, b, sum] = ["pe0 a", "pe0 b", "pe0 accumulator"].map(signal);
    assert_eq!((a.len(), signal("in_valid").len()), (24, 24));
    let adds = |n: &usize| a[*n] * b[*n] != 0 && (sum[*n] == a[*n] * b[*n] || sum[*n] - sum[*n - 1] == a[*n] * b[*n]);
    assert!((1..24).filter(adds).count() > 1, "{a:?} {b:?} {sum:?}");
}
