//! Verilog in the output folder: one file for each module, and lists of files for tools.
//!
//! ```text
//! rtl/*.v            modules
//! rtl/device/*.v     those that name cells of the device, in place of their namesakes in `rtl`
//! rtl/NAME.f         all files of top module NAME, a line each, children before parents: `verilator -f rtl/NAME.f`
//! rtl/waivers.vlt    what `verilator -Wall` says about them and need not, each with its reason
//! ```
//!
//! Paths in a list are relative to the output folder.

use crate::writing::Files;
use arch::rtl;

/// Where modules are.
const FOLDER: &str = "rtl";
/// Warnings of Verilator that are waived.
pub const WAIVERS: &str = "rtl/waivers.vlt";

/// What is waived, with or without a program inside the hardware.
pub fn waivers(is_fixed: bool) -> String {
    hdl::lint_waivers().to_owned() + if is_fixed { include_str!("fixed.vlt") } else { "" }
}

/// Add the modules of a text, and say which files they are.
pub fn add(files: &mut Files, verilog: &str) -> Vec<String> {
    let modules = rtl::modules(verilog).into_iter();
    modules.map(|(name, text)| added(files, format!("{FOLDER}/{name}.v"), text)).collect()
}

/// Add those modules of `device` that differ from their namesakes in `generic`, and say which files are the whole design.
pub fn add_device(files: &mut Files, generic: &str, device: &str) -> Vec<String> {
    let generic = rtl::modules(generic);
    let path = |module: (String, String)| {
        if generic.contains(&module) {
            format!("{FOLDER}/{}.v", module.0)
        } else {
            added(files, format!("{FOLDER}/device/{}.v", module.0), module.1)
        }
    };
    rtl::modules(device).into_iter().map(path).collect()
}

/// Add the list of the files of a top module.
pub fn add_list(files: &mut Files, top: &str, sources: &[String]) {
    files.add(format!("{FOLDER}/{top}.f"), sources.iter().fold(String::new(), |list, path| list + path + "\n"));
}

fn added(files: &mut Files, path: String, text: String) -> String {
    files.add(path.clone(), text);
    path
}
