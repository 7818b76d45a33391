//! Feature columns that hold no numbers: truth values, dates and categories, as numbers.
//!
//! | cells | become |
//! |---|---|
//! | `true`, `false`; `yes`, `no`; `t`, `f`; `y`, `n` | 1, 0 |
//! | `2024-02-29`, `2024/02/29`, `29.02.2024`, with or without a time | days since 1970-01-01 |
//! | at most [`MOST_CATEGORIES`] different texts | a feature `column=text` for each, 1 where it is the cell, otherwise 0 |
//!
//! The kinds of columns are decided when a model is trained, and saved with it.

use crate::data::labels::{Class, Coding, MOST_CLASSES};
use crate::data::table::{Table, is_nothing};
use crate::train::settings::{self, Selection};
use arch::{Code, Diagnostic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Most categories of a column.
pub const MOST_CATEGORIES: usize = MOST_CLASSES;

/// Cells that decide whether a column is meant to hold numbers.
const SAMPLE: usize = 1000;

/// How the cells of a column become numbers, if they are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Kind {
    /// A truth value: 0 or 1.
    Boolean,
    /// A date: days since 1970-01-01; the time of the day is a fraction.
    Date,
    /// One of these texts: a feature for each.
    Category(Vec<String>),
}

impl Kind {
    /// The kind of a column, from its cells; nothing if it holds numbers. `named` says that its cells are categories, whatever they look like.
    ///
    /// # Errors
    /// Its number of different texts, if there are too many.
    pub fn of(table: &Table, column: usize, named: bool) -> Result<Option<Kind>, usize> {
        let cells =
            || (0..table.rows.len()).filter(|&row| !table.is_missing(row, column)).map(|row| &table.rows[row][column]);
        if !named {
            let sample = cells().take(SAMPLE).count();
            let numbers = cells().take(SAMPLE).filter(|cell| cell.parse::<f64>().is_ok()).count();
            // Where most are numbers the others are mistakes.
            if sample == 0 || 2 * numbers >= sample {
                return Ok(None);
            }
            if cells().all(|cell| boolean(cell).is_some()) {
                return Ok(Some(Kind::Boolean));
            }
            if cells().all(|cell| day(cell).is_some()) {
                return Ok(Some(Kind::Date));
            }
        }
        let Coding::Classes(mut names) = Coding::classes(table, column) else { return Ok(None) };
        names.retain(|name| !is_nothing(name));
        if names.len() > MOST_CATEGORIES { Err(names.len()) } else { Ok(Some(Kind::Category(names))) }
    }

    /// Names of the features that a column of this kind makes.
    pub fn features(&self, column: &str) -> Vec<String> {
        match self {
            Kind::Boolean | Kind::Date => vec![column.to_owned()],
            Kind::Category(names) => names.iter().map(|name| format!("{column}={name}")).collect(),
        }
    }
}

/// How feature columns of texts become numbers.
///
/// # Errors
/// `E-DATA`: each column of too many texts; two features of one name.
pub fn of_columns(
    table: &Table,
    features: &[String],
    selection: &Selection,
) -> Result<BTreeMap<String, Kind>, Vec<Diagnostic>> {
    let named: &[String] = selection.categories.as_ref().map_or(&[], settings::Columns::names);
    let (mut kinds, mut many) = (BTreeMap::new(), Vec::new());
    for name in named {
        table.column(name).map_err(|wrong| vec![wrong])?;
    }
    for (name, column) in features.iter().zip(table.columns_of(features)?) {
        match Kind::of(table, column, named.contains(name)) {
            Ok(kind) => kinds.extend(kind.map(|kind| (name.clone(), kind))),
            Err(count) => many.push((name, count)),
        }
    }
    let mut seen = BTreeSet::new();
    let own = |name: &String| kinds.get(name).map_or_else(|| vec![name.clone()], |kind| kind.features(name));
    if let Some(twice) = features.iter().flat_map(own).find(|feature| !seen.insert(feature.clone())) {
        return Err(vec![Diagnostic::global(Code::Data, format!("two features are called `{twice}`"))]);
    }
    let names = many.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(",");
    let names = if names.contains(' ') { format!("\"{names}\"") } else { names };
    let help =
        format!("leave out what says nothing: --drop {names}; texts are numbers after scikit-learn's TfidfVectorizer");
    let wrong = |(name, count): &(&String, usize)| {
        let message =
            format!("column `{name}` holds {count} different texts, more than the {MOST_CATEGORIES} of categories");
        Diagnostic::global(Code::Data, message).with_help(help.clone())
    };
    if many.is_empty() { Ok(kinds) } else { Err(many.iter().map(wrong).collect()) }
}

/// How one feature is read from its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader<'a> {
    /// The number in the cell.
    Number,
    /// 0 or 1.
    Boolean,
    /// Days.
    Date,
    /// Whether the cell is the category of this number.
    Is(&'a [String], usize),
}

impl Reader<'_> {
    /// The number that a cell means.
    ///
    /// # Errors
    /// `E-DATA` with row, line and column.
    pub fn read(&self, table: &Table, row: usize, column: usize) -> Result<f64, Diagnostic> {
        let cell = &table.rows[row][column];
        let wrong = |what: &str, help: &str| {
            if table.is_missing(row, column) {
                table.missing(row, column)
            } else {
                table.wrong(row, column, format!("`{cell}` {what}")).with_help(help)
            }
        };
        match self {
            Reader::Number => table.number(row, column),
            Reader::Boolean => boolean(cell)
                .ok_or_else(|| wrong("is not a truth value", "the column holds true and false, or yes and no")),
            Reader::Date => day(cell)
                .ok_or_else(|| wrong("is not a date", "dates are written 2024-02-29, 2024/02/29 or 29.02.2024")),
            Reader::Is(names, index) => {
                let class = Class::of(cell);
                let unknown = || {
                    let known = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                    let help =
                        format!("its categories are {known}: train anew with all of them, or leave these rows out");
                    wrong("is not a category of the column", &help)
                };
                // The first feature of a column looks for the others.
                if *index == 0 && !names.iter().any(|name| Class::of(name) == class) {
                    return Err(unknown());
                }
                Ok(f64::from(u8::from(Class::of(&names[*index]) == class)))
            }
        }
    }
}

/// What a truth value is worth.
fn boolean(cell: &str) -> Option<f64> {
    let is = |words: [&str; 4]| words.iter().any(|word| cell.eq_ignore_ascii_case(word));
    if is(["true", "yes", "t", "y"]) { Some(1.0) } else { is(["false", "no", "f", "n"]).then_some(0.0) }
}

/// Days since 1970-01-01 of a date, with the time as a fraction.
fn day(cell: &str) -> Option<f64> {
    let (date, time) = match cell.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (cell, None),
    };
    let separator = ['-', '/', '.'].into_iter().find(|&separator| date.contains(separator))?;
    let parts: Vec<&str> = date.split(separator).collect();
    let [first, second, third] = parts[..] else { return None };
    let (year, month, day) = if separator == '.' { (third, second, first) } else { (first, second, third) };
    let digits = |text: &str, most: usize| {
        (text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse::<i64>().ok())?
    };
    let (year, month, day) = ((year.len() == 4).then(|| digits(year, 4))??, digits(month, 2)?, digits(day, 2)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if !(1..=12).contains(&month) || day < 1 || day > days[month as usize - 1] {
        return None;
    }
    // Days before a year of the Gregorian calendar, from year 1 on.
    let before = |year: i64| {
        365 * (year - 1) + (year - 1).div_euclid(4) - (year - 1).div_euclid(100) + (year - 1).div_euclid(400)
    };
    let whole = before(year) - before(1970) + days[..month as usize - 1].iter().sum::<i64>() + day - 1;
    Some(whole as f64 + time.map_or(Some(0.0), part_of_day)?)
}

/// `12:30`, `12:30:15.5`, with or without `Z`.
fn part_of_day(time: &str) -> Option<f64> {
    let mut parts = time.trim().trim_end_matches('Z').split(':');
    let mut next =
        |most: f64| parts.next().map(|part| part.parse::<f64>().ok().filter(|value| (0.0..most).contains(value)));
    let (hours, minutes, seconds) = (next(24.0)??, next(60.0)??, next(60.0).unwrap_or(Some(0.0))?);
    parts.next().is_none().then_some((hours * 3600.0 + minutes * 60.0 + seconds) / 86400.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::fields::Encoding;
    use crate::data::fields::tests::{names, settings, table};

    /// By Python's `datetime`: `(datetime(2024, 2, 29, 18) - datetime(1970, 1, 1)).total_seconds() / 86400`, and so on.
    #[test]
    fn dates_are_days() {
        for (cell, expected) in [
            ("1970-01-01", 0.0),
            ("2024-02-29 18:00", 19782.75),
            ("2024/02/29", 19782.0),
            ("29.02.2024", 19782.0),
            ("2000-03-01T12:00:00Z", 11017.5),
            ("1969-12-31", -1.0),
            ("1900-03-01", -25508.0),
        ] {
            assert_eq!(day(cell), Some(expected), "{cell}");
        }
        for cell in [
            "1900-02-29",
            "2023-13-01",
            "2023-00-01",
            "2023-1-",
            "12-31",
            "31/12/2023",
            "2023-04-31",
            "2023-01-01 24:00",
            "",
            "1.5",
            "a-b-c",
        ] {
            assert_eq!(day(cell), None, "{cell}");
        }
    }

    #[test]
    fn cells_decide_the_kind() {
        let table = Table::from_csv(
            b"n,b,d,c,m,e\n1,yes,2024-01-01,red,1,\n?,No,2024-01-02,blue,2,\n2,YES,NA,NA,x,\n3,no,2024-01-03,red,3,\n",
        )
        .unwrap();
        let kind = |column, named| Kind::of(&table, column, named);
        assert_eq!(
            (kind(0, false), kind(1, false), kind(2, false)),
            (Ok(None), Ok(Some(Kind::Boolean)), Ok(Some(Kind::Date)))
        );
        let category = |list: &[&str]| Ok(Some(Kind::Category(names(list))));
        assert_eq!((kind(3, false), kind(0, true)), (category(&["blue", "red"]), category(&["1", "2", "3"])));
        // A slip among numbers stays one; nothing is a number that is missing.
        assert_eq!((kind(4, false), kind(5, false)), (Ok(None), Ok(None)));
        let rows = (0..60).map(|n| format!("name{n},1\n")).collect::<Vec<_>>().concat();
        let many = Table::from_csv(format!("a,y\n{rows}").as_bytes()).unwrap();
        assert_eq!(Kind::of(&many, 0, false), Err(60));
        assert_eq!(Kind::Category(vec!["u".into(), "v".into()]).features("c"), ["c=u", "c=v"]);
    }

    const SQUARED: &str = "loss = \"squared\"\n";
    const CLASSES: &str = "loss = \"cross_entropy\"\nfirst_class = 1\n";

    /// By hand: what texts become, by column, and what is told of cells that mean nothing.
    #[test]
    fn texts_become_features() {
        let text = "id,sex,born,alive,class,y\n7,male,1970-01-03,yes,1,10\n8,female,1970-01-02,no,3,20\n9,male,1970-01-01,yes,1,30\n";
        let data = table(text);
        let chosen = settings(&format!("{SQUARED}drop = \"id\"\ncategories = [\"class\"]"));
        let encoding = Encoding::choose(&data, &chosen, &chosen.selection, 1).unwrap();
        assert_eq!(encoding.features, names(&["sex=female", "sex=male", "born", "alive", "class=1", "class=3"]));
        assert_eq!(encoding.columns(), ["sex", "born", "alive", "class"]);
        let rows = encoding.read(&data, true, false).unwrap();
        let expected = [[0.0, 1.0, 2.0, 1.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0, 1.0, 0.0]];
        assert_eq!(rows.features, expected);
        // Columns in another order, and others beside them, change nothing. Unknown categories are told once.
        let again: Encoding = serde_json::from_str(&serde_json::to_string(&encoding).unwrap()).unwrap();
        let new = table("class,alive,born,sex\n3.0,NO,1970-01-05,female\n");
        assert_eq!(again.read(&new, false, false).unwrap().features, [[1.0, 0.0, 4.0, 0.0, 0.0, 1.0]]);
        let said = |text: &str, gaps| match again.read(&table(text), false, gaps) {
            Ok(rows) => panic!("{rows:?}"),
            Err(errors) => errors.into_iter().map(|error| error.message).collect::<Vec<_>>(),
        };
        let wrong = "class,alive,born,sex\n3,no,1970-01-05,x\n2,?,soon,x\n2,no,,x\n";
        let expected = [
            "row 2 (line 3), column `class`: `2` is not a category of the column; 2 cells of this column are wrong",
            "row 2 (line 3), column `alive`: `?` is not a number",
            "row 2 (line 3), column `born`: `soon` is not a date; 2 cells of this column are wrong",
            "row 1 (line 2), column `sex`: `x` is not a category of the column; 3 cells of this column are wrong",
        ];
        assert_eq!(said(wrong, false), expected);
        assert_eq!(said(wrong, true).len(), 3);
        let only = settings(&format!("{SQUARED}features = [\"born\", \"alive\"]\ntarget = \"y\""));
        let encoding = Encoding::choose(&data, &only, &only.selection, 1).unwrap();
        assert_eq!((encoding.features, encoding.targets), (names(&["born", "alive"]), names(&["y"])));
    }

    #[test]
    fn texts_that_are_no_categories_are_refused() {
        let rows = (0..60).map(|n| format!("name{n},ticket{n},{n}.5,{n}\n")).collect::<Vec<_>>().concat();
        let data = table(&format!("name,ticket,y,z\n{rows}"));
        let said = |more: &str| {
            let settings = settings(more);
            let errors = Encoding::choose(&data, &settings, &settings.selection, 1).unwrap_err();
            errors.into_iter().map(|error| (error.message, error.help.unwrap_or_default())).collect::<Vec<_>>()
        };
        let found = said(SQUARED);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].0.contains("60 different texts") && found[1].1.contains("--drop name,ticket"), "{found:?}");
        let dropped = format!("{CLASSES}drop = [\"name\", \"ticket\"]\n");
        assert!(said(&dropped)[0].0.contains("`z` holds 60 different values"));
        assert!(said(&format!("{dropped}target = \"y\""))[0].0.contains("fractions, such as 0.5"));
        let twice = table("a,a=u,y\nu,1,2\nv,1,2\n");
        assert!(Encoding::choose(&twice, &settings(SQUARED), &Selection::default(), 1).is_err());
    }
}
