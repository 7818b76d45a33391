//! The picture of a routed design: a square for each tile of the device, in the colour of the part that has most cells there.

use super::charts;
use fpga::flow::die::{Die, Part};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The drawing; `None` where nothing is placed.
pub fn svg(die: &Die, title: &str) -> Option<String> {
    let rows = die.tiles.keys().map(|at| at.0).max()? + 1;
    let columns = die.tiles.keys().map(|at| at.1).max()? + 1;
    let engines = die.tiles.values().filter_map(|part| match part {
        Part::Engine { pu, column } => Some((pu + 1, column + 1)),
        _ => None,
    });
    let (pus, pes) = engines.fold((1, 1), |(pus, pes), (pu, column)| (pus.max(pu), pes.max(column)));
    // Runs of one colour in a row are one rectangle of a path: a device has thousands of tiles.
    let mut paths: BTreeMap<String, String> = BTreeMap::new();
    let mut tiles = die.tiles.iter().map(|(&at, &part)| (at, colour(part, pus, pes))).peekable();
    while let Some(((row, column), colour)) = tiles.next() {
        let mut width = 1;
        while tiles.next_if(|(at, next)| *at == (row, column + width) && *next == colour).is_some() {
            width += 1;
        }
        let _ = write!(paths.entry(colour).or_default(), "M{column} {row}h{width}v1h-{width}z");
    }
    let mut svg = charts::opening(title, f64::from(columns), f64::from(rows));
    let _ = write!(svg, "<rect width=\"{columns}\" height=\"{rows}\" fill=\"#8886\"/>");
    for (colour, path) in paths {
        let _ = write!(svg, "<path fill=\"{colour}\" d=\"{path}\"/>");
    }
    Some(svg + "</svg>")
}

/// A hue for each PU, or for each engine of a grid that has one PU; neighbours differ in lightness.
fn colour(part: Part, pus: u32, pes: u32) -> String {
    match part {
        Part::Engine { pu, column } => {
            let (number, of) = if pus > 1 { (pu, pus) } else { (column, pes) };
            format!("hsl({} 55% {}%)", 110 + 180 * number / of, 42 + 20 * (column % 2))
        }
        Part::Row => "#7a5230".to_owned(),
        Part::Global => "#000".to_owned(),
        Part::Sequencer => "#c03040".to_owned(),
        Part::Store => "#e0b020".to_owned(),
        Part::Link => "#fff".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_of_one_part_are_one_stroke() {
        let engine = |pu| Part::Engine { pu, column: 0 };
        let tiles = [((0, 1), engine(0)), ((0, 2), engine(0)), ((0, 4), engine(0)), ((2, 0), Part::Sequencer)];
        let drawn = svg(&Die { tiles: tiles.into() }, "a & b").unwrap();
        assert!(drawn.contains("viewBox=\"0 0 5 3\"") && drawn.contains("a &amp; b"), "{drawn}");
        assert!(drawn.contains("d=\"M1 0h2v1h-2zM4 0h1v1h-1z\"") && drawn.contains("d=\"M0 2h1v1h-1z\""), "{drawn}");
        assert_eq!(svg(&Die::default(), ""), None);
    }
}
