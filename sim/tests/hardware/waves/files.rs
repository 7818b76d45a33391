//! Wave files read back: for each signal by its full name, its changes.

use fst_reader::{FstFilter, FstHierarchyEntry, FstReader, FstSignalValue};
use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::Path;
use vcd::{Command, IdCode, ScopeItem};

/// Time and value, in order; numbers as binary digits.
pub(crate) type Changes = BTreeMap<String, Vec<(u64, String)>>;

/// A VCD file.
pub(crate) fn vcd(path: &Path) -> Changes {
    fn names(items: &[ScopeItem], path: &str, found: &mut BTreeMap<IdCode, String>) {
        for item in items {
            match item {
                ScopeItem::Scope(scope) => names(&scope.items, &format!("{path}{}.", scope.identifier), found),
                ScopeItem::Var(var) => {
                    found.insert(var.code, format!("{path}{}", var.reference));
                }
                _ => {}
            }
        }
    }
    let mut parser = vcd::Parser::new(BufReader::new(std::fs::File::open(path).unwrap()));
    let header = parser.parse_header().unwrap();
    let mut by_id = BTreeMap::new();
    names(&header.items, "", &mut by_id);
    let mut changes: Changes = by_id.values().map(|name| (name.clone(), Vec::new())).collect();
    let mut now = 0;
    for command in parser {
        let (id, value) = match command.unwrap() {
            Command::Timestamp(time) => {
                now = time;
                continue;
            }
            Command::ChangeScalar(id, value) => (id, value.to_string()),
            Command::ChangeVector(id, value) => (id, value.iter().map(|bit| bit.to_string()).collect()),
            Command::ChangeString(id, value) => (id, value.replace("\\040", " ").replace("\\134", "\\")),
            _ => continue,
        };
        changes.get_mut(&by_id[&id]).unwrap().push((now, value));
    }
    changes
}

/// An FST file; signals in `texts` are vectors of ASCII characters.
pub(crate) fn fst(path: &Path, texts: &dyn Fn(&str) -> bool) -> Changes {
    let mut reader = FstReader::open(BufReader::new(std::fs::File::open(path).unwrap())).unwrap();
    let (mut scope, mut by_handle) = (Vec::new(), BTreeMap::new());
    reader
        .read_hierarchy(|entry| match entry {
            FstHierarchyEntry::Scope { name, .. } => scope.push(name),
            FstHierarchyEntry::UpScope => {
                scope.pop();
            }
            FstHierarchyEntry::Var { name, handle, .. } => {
                by_handle.insert(handle.get_index(), format!("{}.{name}", scope.join(".")));
            }
            _ => {}
        })
        .unwrap();
    let mut changes: Changes = by_handle.values().map(|name| (name.clone(), Vec::new())).collect();
    reader
        .read_signals::<std::convert::Infallible>(&FstFilter::all(), |time, handle, value| {
            let name = &by_handle[&handle.get_index()];
            let FstSignalValue::String(bits) = value else { panic!("{name} is a number") };
            let digits = String::from_utf8(bits.to_vec()).unwrap();
            let value = if texts(name) && !digits.contains('x') {
                let byte = |digits: &[u8]| digits.iter().fold(0u8, |byte, digit| byte << 1 | (digit - b'0'));
                let text: String = digits.as_bytes().chunks(8).map(|digits| byte(digits) as char).collect();
                text.trim_start().to_owned()
            } else {
                digits
            };
            changes.get_mut(name).unwrap().push((time, value));
            Ok(())
        })
        .unwrap();
    changes
}

/// The value a signal has in the cycle that begins at `time`.
pub(crate) fn at<'a>(changes: &'a Changes, name: &str, time: u64) -> &'a str {
    let changes = changes.get(name).unwrap_or_else(|| panic!("no signal {name}"));
    let until = changes.partition_point(|(changed, _)| *changed <= time);
    assert!(until > 0, "{name} has no value at {time}");
    &changes[until - 1].1
}

/// A number without sign.
pub(crate) fn bits(value: &str) -> u64 {
    u64::from_str_radix(value, 2).unwrap()
}

/// A number in two's complement, as wide as it is written.
pub(crate) fn signed(value: &str) -> i128 {
    let number = i128::from_str_radix(value, 2).unwrap();
    if value.starts_with('1') { number - (1 << value.len()) } else { number }
}
