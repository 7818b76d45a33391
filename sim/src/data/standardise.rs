//! Mean 0 and deviation 1 per column, with the statistics of the training part. A constant column becomes 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `x -> (x - mean) / deviation`, or 0 where the deviation is 0. Saved with the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Standardiser {
    /// Mean of each column.
    pub mean: Vec<f64>,
    /// Deviation of each column; 0 marks a constant one.
    pub deviation: Vec<f64>,
}

impl Standardiser {
    /// Change nothing.
    pub fn identity(columns: usize) -> Standardiser {
        Standardiser { mean: vec![0.0; columns], deviation: vec![1.0; columns] }
    }

    /// Measure the rows `rows` of `values`.
    pub fn measure(values: &[Vec<f64>], rows: &[usize]) -> Standardiser {
        let columns = values.first().map_or(0, Vec::len);
        let count = rows.len().max(1) as f64;
        let (mut mean, mut deviation) = (Vec::with_capacity(columns), Vec::with_capacity(columns));
        for column in 0..columns {
            // Squares of numbers beyond these are none: parts of the largest are measured.
            let largest = rows.iter().map(|&row| libm::fabs(values[row][column])).fold(0.0, f64::max);
            let unit = if largest > 0.0 && !(1e-100..1e100).contains(&largest) { largest } else { 1.0 };
            let cells = || rows.iter().map(|&row| &values[row]).map(|row| row[column] / unit);
            let average = cells().sum::<f64>() / count;
            let variance = cells().map(|x| (x - average) * (x - average)).sum::<f64>() / count;
            let (average, spread) = (average * unit, libm::sqrt(variance) * unit);
            // Rounding leaves a constant column a spread of about 1e-16 of its value.
            let constant = spread <= 1e-12 * libm::fabs(average) || spread == 0.0;
            mean.push(average);
            deviation.push(if constant { 0.0 } else { spread });
        }
        Standardiser { mean, deviation }
    }

    /// Apply to one row.
    pub fn apply(&self, row: &[f64]) -> Vec<f64> {
        let scale = |((x, mean), deviation): ((&f64, &f64), &f64)| {
            if *deviation == 0.0 { 0.0 } else { (x - mean) / deviation }
        };
        row.iter().zip(&self.mean).zip(&self.deviation).map(scale).collect()
    }

    /// Undo for one column.
    pub fn restore(&self, column: usize, value: f64) -> f64 {
        value * self.deviation[column] + self.mean[column]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scales are those of the same values times a power of two, beyond the range of squares, too.
    #[test]
    fn small_and_large_values_have_scales() {
        let values = |unit: f64| [[1.0], [2.5], [4.0], [-3.0]].map(|[value]| vec![value * unit]).to_vec();
        let rows = [0, 1, 2, 3];
        let plain = Standardiser::measure(&values(1.0), &rows);
        for power in [-1000, 900, 1020] {
            let unit = libm::ldexp(1.0, power);
            let scaled = Standardiser::measure(&values(unit), &rows);
            let near = |a: f64, b: f64| (a / unit - b).abs() < 1e-12;
            assert!(near(scaled.mean[0], plain.mean[0]) && near(scaled.deviation[0], plain.deviation[0]), "{power}");
        }
    }

    #[test]
    fn training_rows_decide() {
        let values = vec![vec![1.0, 0.1], vec![3.0, 0.1], vec![100.0, 7.0]];
        let standardiser = Standardiser::measure(&values, &[0, 1]);
        assert_eq!(standardiser.mean[0], 2.0);
        assert_eq!(standardiser.deviation, [1.0, 0.0]);
        assert_eq!(standardiser.apply(&values[2]), [98.0, 0.0]);
        assert_eq!(standardiser.restore(0, 98.0), 100.0);
    }

    /// By hand, and far from 0, where squares of the values would have lost what is between them.
    #[test]
    fn deviations_are_those_of_the_differences() {
        let column = |cells: &[f64]| {
            let values: Vec<Vec<f64>> = cells.iter().map(|&cell| vec![cell]).collect();
            Standardiser::measure(&values, &(0..cells.len()).collect::<Vec<_>>())
        };
        let plain = column(&[1.0, 5.0]);
        assert_eq!((plain.mean[0], plain.deviation[0], plain.restore(0, 1.5)), (3.0, 2.0, 6.0));
        assert_eq!(plain.apply(&[6.0]), [1.5]);
        let (low, high) = (1e9 + 0.1, 1e9 + 0.5);
        assert!((column(&[low, high]).deviation[0] / ((high - low) / 2.0) - 1.0).abs() < 1e-9);
        // Rounding leaves three times 0.1 a spread; numbers that are small by themselves are not constant.
        assert_eq!(column(&[0.1; 3]).deviation, [0.0]);
        assert!((column(&[1e-13, 3e-13]).deviation[0] / 1e-13 - 1.0).abs() < 1e-9);
    }
}
