//! Data for cases without a public data set of the right size, as the text of a table: the same everywhere.

use serde::Deserialize;

/// What is made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "made_up", rename_all = "lowercase", deny_unknown_fields)]
pub enum MadeUp {
    /// Columns of numbers between -1 and 1, and a linear function of them with a little noise.
    Line {
        /// Rows of the table.
        rows: usize,
        /// Numbers of a row.
        columns: usize,
    },
    /// Features of a user and of an item, then which users rated the item and how, and which items the user rated and how.
    Ratings {
        /// Rows of the table.
        rows: usize,
        /// Users.
        users: usize,
        /// Items.
        items: usize,
        /// Features of each.
        features: usize,
    },
}

impl MadeUp {
    /// As CSV.
    pub fn table(self) -> String {
        match self {
            MadeUp::Line { rows, columns } => line(rows, columns),
            MadeUp::Ratings { rows, users, items, features } => ratings(rows, users, items, features),
        }
    }
}

fn line(rows: usize, columns: usize) -> String {
    let mut noise = Noise(1);
    let slopes = noise.several(columns);
    let row = |noise: &mut Noise| {
        let mut values = noise.several(columns);
        let sum: f64 = slopes.iter().zip(&values).map(|(slope, value)| slope * value).sum();
        values.push(sum + 0.1 * noise.next());
        values
    };
    let head: Vec<String> = named("x", columns).chain(["target".to_owned()]).collect();
    text(&head, (0..rows).map(|_| row(&mut noise)))
}

fn ratings(rows: usize, users: usize, items: usize, features: usize) -> String {
    let mut noise = Noise(2);
    let mut tastes = |count: usize| (0..count).map(|_| noise.several(features)).collect::<Vec<_>>();
    let (of_users, of_items) = (tastes(users), tastes(items));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let row = |noise: &mut Noise| {
        let (user, item) = (&of_users[noise.below(users)], &of_items[noise.below(items)]);
        let mut values = [user.as_slice(), item].concat();
        for (others, one) in [(&of_users, item), (&of_items, user)] {
            let rated: Vec<f64> = others.iter().map(|_| f64::from(u8::from(noise.next() > 0.4))).collect();
            values.extend(&rated);
            values.extend(others.iter().zip(rated).map(|(other, rated)| rated * product(other, one)));
        }
        values
    };
    let head: Vec<String> = named("user", features)
        .chain(named("item", features))
        .chain(named("rated_by", users))
        .chain(named("rating_by", users))
        .chain(named("rated", items))
        .chain(named("rating", items))
        .collect();
    text(&head, (0..rows).map(|_| row(&mut noise)))
}

fn named(name: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |n| format!("{name}_{n}"))
}

fn text(head: &[String], rows: impl Iterator<Item = Vec<f64>>) -> String {
    let line = |values: Vec<f64>| values.iter().map(|value| format!("{value:.4}")).collect::<Vec<_>>().join(",");
    let lines: Vec<String> = std::iter::once(head.join(",")).chain(rows.map(line)).collect();
    lines.join("\n") + "\n"
}

/// Numbers that look random.
struct Noise(u64);

impl Noise {
    /// From -1 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as f64 / f64::from(1u32 << 31) - 1.0
    }

    fn several(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.next()).collect()
    }

    fn below(&mut self, count: usize) -> usize {
        (((self.next() + 1.0) / 2.0 * count as f64) as usize).min(count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<Vec<f64>> {
        let row = |line: &str| line.split(',').map(|cell| cell.parse().unwrap()).collect();
        text.lines().skip(1).map(row).collect()
    }

    #[test]
    fn a_line_is_nearly_one() {
        let rows = numbers(&MadeUp::Line { rows: 40, columns: 2 }.table());
        assert!(rows.len() == 40 && rows.iter().all(|row| row.len() == 3));
        // Slopes by least squares, from the sums of products.
        let sum = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>();
        let determinant = sum(0, 0) * sum(1, 1) - sum(0, 1) * sum(0, 1);
        let first = (sum(0, 2) * sum(1, 1) - sum(1, 2) * sum(0, 1)) / determinant;
        let second = (sum(1, 2) * sum(0, 0) - sum(0, 2) * sum(0, 1)) / determinant;
        assert!(rows.iter().all(|row| (row[2] - first * row[0] - second * row[1]).abs() < 0.2));
    }

    #[test]
    fn only_what_is_rated_has_a_rating() {
        let rows = numbers(&MadeUp::Ratings { rows: 9, users: 5, items: 3, features: 2 }.table());
        for row in &rows {
            assert_eq!(row.len(), 2 + 2 + 5 + 5 + 3 + 3);
            let (by, of) = (&row[4..14], &row[14..]);
            let pairs = by[..5].iter().zip(&by[5..]).chain(of[..3].iter().zip(&of[3..]));
            assert!(pairs.into_iter().all(|(rated, rating)| *rated == 1.0 || *rating == 0.0));
        }
        assert!(rows.iter().flatten().any(|&value| value == 1.0));
    }
}
