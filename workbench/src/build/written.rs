//! Files of a build, read again to be run.

use crate::failure::Failure;
use arch::Image;
use arch::rtl::{CoreName, Rtl};
use std::path::Path;

fn read(folder: &Path, name: &str) -> Result<String, Failure> {
    let path = folder.join(name);
    std::fs::read_to_string(&path).map_err(|error| Failure::file("read", &path, &error))
}

/// The Verilog of a core as it is written: the files of the list of the grid.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn rtl(core: &CoreName, folder: &Path, image: &Image) -> Result<Rtl, Failure> {
    let top = core.module(hdl::TOP);
    let mut verilog = String::new();
    for name in read(folder, &format!("rtl/{top}.f"))?.lines() {
        verilog += &read(folder, name)?;
    }
    let machine = &image.machine;
    let [input, output] = [machine.stream_words(), machine.output_words()].map(|words| words * machine.word());
    Ok(Rtl { top, verilog, ports: Rtl::grid_ports(input, output) })
}

/// Refuse microcode of `part` that is not that of the image.
///
/// # Errors
/// It is that of another program.
pub(crate) fn check_microcode(folder: &Path, part: &str, image: &Image) -> Result<(), Failure> {
    let name = format!("{part}/microcode.hex");
    let text = read(folder, &name)?;
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let line = |line: &str| line.split_once(' ').and_then(|(address, data)| Some((number(address)?, number(data)?)));
    let written: Option<Vec<_>> = text.lines().filter(|line| !line.starts_with('#')).map(line).collect();
    if written.as_ref() == Some(&image.control_writes()) {
        return Ok(());
    }
    Err(Failure::Mismatch(format!("{} is not the microcode of this program", folder.join(&name).display())))
}
