//! Weights as pictures, where the inputs are one: 64 features are 8 x 8 pixels.

use crate::report::page::charts;
use std::fmt::Write;

/// Pictures of a tensor that are drawn; the others look alike.
const MOST: usize = 12;
/// Pixels of a picture on a side, at least and at most: nine numbers are no picture, and a page has to stay small.
const SIDES: std::ops::RangeInclusive<usize> = 4..=32;

/// The picture that the weights of one unit make.
pub(super) struct Picture {
    /// Name of the tensor, and the unit where it has several.
    pub name: String,
    side: usize,
    pixels: Vec<f64>,
}

impl Picture {
    /// The pictures of a tensor of this shape over so many features, the last index of which may begin with a bias; none where its weights are
    /// not one per feature, or the features no square.
    pub(super) fn of(name: &str, shape: &[u32], values: &[f64], features: usize, bias: bool) -> Vec<Picture> {
        let side = features.isqrt();
        let inputs = features + usize::from(bias);
        let fits = shape.last().is_some_and(|&last| last as usize == inputs) && side * side == features;
        if !fits || !SIDES.contains(&side) {
            return Vec::new();
        }
        let units = values.len() / inputs;
        // A unit whose weights are all 0 is not used.
        let used = values.chunks(inputs).enumerate().filter(|(_, unit)| unit.iter().any(|&weight| weight != 0.0));
        used.take(MOST)
            .map(|(unit, weights)| Picture {
                name: if units == 1 { name.to_owned() } else { format!("{name}[{unit}]") },
                side,
                pixels: weights[usize::from(bias)..].to_vec(),
            })
            .collect()
    }

    /// Blue is positive, red negative, pale is small.
    pub(super) fn svg(&self) -> String {
        let size = (self.side * 10) as f64;
        let mut svg = charts::opening(&format!("weights {}", self.name), size, size);
        let most = self.pixels.iter().copied().map(f64::abs).fold(f64::MIN_POSITIVE, f64::max);
        for (number, &weight) in self.pixels.iter().enumerate() {
            let (x, y) = (number % self.side * 10, number / self.side * 10);
            let (colour, shade) = (u8::from(weight < 0.0), weight.abs() / most);
            let _ = write!(
                svg,
                "<rect class=\"fill{colour}\" x=\"{x}\" y=\"{y}\" width=\"10\" height=\"10\" opacity=\"{shade:.2}\"/>"
            );
        }
        svg + "</svg>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_that_are_a_square_are_pictures() {
        let mut values = vec![0.5];
        values.extend((0..16).map(|n| if n == 3 { -2.0 } else { 1.0 }));
        values.extend([0.0; 17]);
        let pictures = Picture::of("w", &[2, 17], &values, 16, true);
        // The second unit is not used; the bias is no pixel.
        assert_eq!(pictures.len(), 1);
        assert_eq!((pictures[0].name.as_str(), pictures[0].side, pictures[0].pixels.len()), ("w[0]", 4, 16));
        let svg = pictures[0].svg();
        assert_eq!(svg.matches("fill1").count(), 1);
        assert!(svg.contains("<rect class=\"fill1\" x=\"30\" y=\"0\" width=\"10\" height=\"10\" opacity=\"1.00\"/>"));
        assert!(svg.contains("opacity=\"0.50\""));
        assert!(Picture::of("w", &[31], &[0.0; 31], 30, true).is_empty());
        assert!(Picture::of("v", &[3, 4], &[1.0; 12], 16, false).is_empty());
    }
}
