//! Floorplan: where the multipliers of a grid go.
//!
//!     groups of multipliers, sites of the device ──▶ anchors: this cell, that site ──▶ attributes in the netlist
//!
//! Place and route sees a grid as one net of equal parts, and on a large device it strews the PEs of one PU over the whole die. A
//! multiplier on a fixed site holds its PE's logic by it, so it is enough to say where those are: each PU gets a part of a row of multiplier sites
//! to itself, and the part in the middle of the device is left to what all PUs are wired to.

use crate::board::Device;
use crate::family::Floorplan;
use arch::device::filled;

/// A cell that is told where to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Its path in the flat netlist.
    pub cell: String,
    /// The site, as place and route names it.
    pub site: String,
}

/// A part of a row of sites: its middle, relative to the device's, and the groups in it.
struct Slot<'a> {
    row: usize,
    distance: f64,
    columns: &'a [u32],
}

/// Anchors for the multipliers of PUs (`groups`, one for each) and for those in the middle.
///
/// There are none if the board's file does not say where the sites are, or if they are too few for a plan.
pub fn plan(device: &Device, groups: &[Vec<String>], middle: &[String]) -> Vec<Anchor> {
    let Some(floorplan) = &device.family().facts().floorplan else { return Vec::new() };
    let (rows, columns) = (&device.multiplier_rows, &device.multiplier_columns);
    let needed = groups.iter().map(Vec::len).chain([middle.len()]).max().unwrap_or(0);
    // Wide words are multiplied by cells without names.
    if rows.is_empty() || needed == 0 {
        return Vec::new();
    }
    // One slot more than PUs, all rows equally full.
    let per_row = (groups.len() + 1).div_ceil(rows.len());
    if columns.len() / per_row * floorplan.sites.len() < needed {
        return Vec::new();
    }
    let mut slots = slots(rows.len(), columns, per_row);
    slots.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    let center = slots.remove(0);
    slots.truncate(groups.len());
    slots.sort_by_key(|slot| (slot.row, slot.columns[0]));
    let grouped = slots.iter().zip(groups.iter().map(Vec::as_slice)).chain([(&center, middle)]);
    grouped
        .flat_map(|(slot, cells)| {
            let sites = sites(floorplan, rows[slot.row], slot.columns);
            let at = |n: usize| (2 * n + 1) * sites.len() / (2 * cells.len());
            let anchor = |(n, cell): (usize, &String)| Anchor { cell: cell.clone(), site: sites[at(n)].clone() };
            cells.iter().enumerate().map(anchor).collect::<Vec<_>>()
        })
        .collect()
}

/// The rows cut into equal parts.
fn slots(rows: usize, columns: &[u32], per_row: usize) -> Vec<Slot<'_>> {
    let cut = |n: usize| (2 * n * columns.len() + per_row) / (2 * per_row);
    let off = |n: usize, of: usize| (n as f64 + 0.5) / of as f64 - 0.5;
    let slot = |row: usize, n: usize| Slot {
        row,
        distance: off(row, rows).hypot(off(n, per_row)),
        columns: &columns[cut(n)..cut(n + 1)],
    };
    (0..rows).flat_map(|row| (0..per_row).map(move |n| (row, n))).map(|(row, n)| slot(row, n)).collect()
}

/// Names of the sites of some groups, from left to right.
fn sites(floorplan: &Floorplan, row: u32, columns: &[u32]) -> Vec<String> {
    let site = |column: u32, number: u32| {
        let [x, y, number] = [column, row, number].map(|number| number.to_string());
        filled(&floorplan.name, &[("x", &x), ("y", &y), ("number", &number)])
    };
    let group = |&column: &u32| floorplan.sites.iter().map(move |&(number, x)| (column + x, number));
    columns.iter().flat_map(group).map(|(column, number)| site(column, number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Family;
    use std::collections::BTreeSet;

    fn device(rows: &[u32], columns: &[u32]) -> Device {
        let words = [("size", "85k"), ("package", "CABGA381"), ("speed", "6")];
        let mut device = Device::new(Family::named("ecp5").unwrap(), &words);
        (device.multiplier_rows, device.multiplier_columns) = (rows.to_vec(), columns.to_vec());
        device
    }

    fn groups(count: usize, cells: usize) -> Vec<Vec<String>> {
        (0..count).map(|group| (0..cells).map(|cell| format!("{group}.{cell}")).collect()).collect()
    }

    const ROWS: [u32; 3] = [10, 34, 58];
    const COLUMNS: [u32; 13] = [4, 13, 22, 31, 40, 49, 58, 69, 78, 87, 96, 105, 114];

    #[test]
    fn every_multiplier_has_a_site_of_its_own() {
        for (count, cells) in [(8, 9), (1, 1), (2, 20), (16, 5), (4, 17), (11, 9)] {
            let anchors = plan(&device(&ROWS, &COLUMNS), &groups(count, cells), &["middle".to_owned()]);
            assert_eq!(anchors.len(), count * cells + 1, "{count} x {cells}");
            let sites: BTreeSet<&str> = anchors.iter().map(|anchor| anchor.site.as_str()).collect();
            assert_eq!(sites.len(), anchors.len(), "{count} x {cells}");
        }
    }

    #[test]
    fn groups_stay_together_and_the_middle_is_left_free() {
        let anchors = plan(&device(&ROWS, &COLUMNS), &groups(8, 9), &["middle".to_owned()]);
        let of = |name: &str| anchors.iter().filter(|a| a.cell.starts_with(name)).map(|a| a.site.as_str()).collect();
        let first: Vec<&str> = of("0.");
        assert!(first.iter().all(|site| site.contains("/Y10/")), "{first:?}");
        assert_eq!(first[0], "X4/Y10/MULT18_0");
        let middle: Vec<&str> = of("middle");
        assert_eq!(middle, ["X62/Y34/MULT18_4"]);
        let beside = anchors.iter().filter(|a| a.site.contains("/Y34/") && a.cell != "middle");
        assert_eq!(beside.count(), 2 * 9, "two groups beside the middle one");
    }

    #[test]
    fn no_plan_where_sites_are_unknown_or_too_few() {
        assert!(plan(&device(&[], &COLUMNS), &groups(8, 9), &[]).is_empty());
        assert!(plan(&device(&ROWS, &COLUMNS), &groups(8, 17), &[]).is_empty());
        assert!(plan(&device(&ROWS, &[]), &groups(8, 9), &[]).is_empty());
        assert!(plan(&device(&ROWS, &COLUMNS), &groups(64, 0), &[]).is_empty());
        assert!(plan(&device(&ROWS, &COLUMNS), &groups(64, 1), &[]).is_empty());
        let other = Device::new(Family::named("ice40").unwrap(), &[("size", "up5k"), ("package", "sg48")]);
        assert!(plan(&other, &groups(2, 1), &[]).is_empty());
    }
}
