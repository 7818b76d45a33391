//! Imputation of missing feature values: one number for a whole column, from the training part.
//!
//! It is put in before the features are scaled, and saved with the model, so that a prediction fills gaps as the training did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happens to a missing value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// They are an error.
    #[default]
    Refuse,
    /// The mean of the column in the training part.
    Mean,
    /// The value in the middle of the column in the training part; the lower one of two.
    Median,
    /// 0.
    Zero,
}

impl Missing {
    /// All of them, the default first.
    pub const ALL: &[Missing] = &[Missing::Refuse, Missing::Mean, Missing::Median, Missing::Zero];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Missing::Refuse => "refuse",
            Missing::Mean => "mean",
            Missing::Median => "median",
            Missing::Zero => "zero",
        }
    }
}

/// One number per column, from the rows `training` of `features`, in which NaN is a gap. A column of gaps becomes 0.
pub fn replacements(features: &[Vec<f64>], training: &[usize], missing: Missing) -> Vec<f64> {
    let columns = features.first().map_or(0, Vec::len);
    let replacement = |column: usize| {
        let mut known: Vec<f64> =
            training.iter().map(|&row| features[row][column]).filter(|value| !value.is_nan()).collect();
        match missing {
            Missing::Refuse | Missing::Zero => 0.0,
            _ if known.is_empty() => 0.0,
            Missing::Mean => known.iter().sum::<f64>() / known.len() as f64,
            Missing::Median => {
                known.sort_by(f64::total_cmp);
                known[(known.len() - 1) / 2]
            }
        }
    };
    (0..columns).map(replacement).collect()
}

/// Put them in.
pub fn fill(features: &mut [Vec<f64>], replacements: &[f64]) {
    for row in features {
        for (value, replacement) in row.iter_mut().zip(replacements) {
            if value.is_nan() {
                *value = *replacement;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_take_what_the_training_part_says() {
        let gap = f64::NAN;
        let rows = vec![vec![1.0, gap, gap], vec![4.0, 2.0, gap], vec![gap, 6.0, 9.0], vec![10.0, 5.0, gap]];
        let of = |missing| replacements(&rows, &[0, 1, 3], missing);
        assert_eq!(of(Missing::Mean), [5.0, 3.5, 0.0]);
        assert_eq!(of(Missing::Median), [4.0, 2.0, 0.0]);
        assert_eq!(of(Missing::Zero), [0.0; 3]);
        let mut filled = rows.clone();
        fill(&mut filled, &of(Missing::Mean));
        assert_eq!(filled, [[1.0, 3.5, 0.0], [4.0, 2.0, 0.0], [5.0, 6.0, 9.0], [10.0, 5.0, 0.0]]);
    }
}
