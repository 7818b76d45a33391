//! A file with other values of its weights: everything else stays as it is, byte by byte.

use crate::model::TensorData;
use crate::wire::{Damage, fields, put_bytes, put_integer};
use std::collections::BTreeMap;

/// Number of the graph in a model, and of an initialiser in a graph.
const GRAPH: u64 = 7;
const INITIALISER: u64 = 5;

/// The file with other values of some initialisers, row-major.
///
/// # Errors
/// It has no such initialiser, not as many values, or holds them as something else than real numbers of 32 or 64 bits.
pub fn with_values(bytes: &[u8], values: &BTreeMap<String, Vec<f64>>) -> Result<Vec<u8>, String> {
    let damaged = |damage: Damage| format!("not an ONNX file: {damage}");
    let mut left: BTreeMap<&str, &[f64]> = values.iter().map(|(name, values)| (name.as_str(), &values[..])).collect();
    let mut model = Vec::new();
    for field in fields(bytes) {
        let field = field.map_err(damaged)?;
        if field.number != GRAPH {
            model.extend_from_slice(&bytes[field.start..field.end]);
            continue;
        }
        let inner = field.value.bytes().map_err(damaged)?;
        let mut graph = Vec::new();
        for field in fields(inner) {
            let field = field.map_err(damaged)?;
            let data = match field.number {
                INITIALISER => Some(TensorData::decode(field.value.bytes().map_err(damaged)?).map_err(damaged)?),
                _ => None,
            };
            match data.and_then(|data| Some((left.remove(data.name)?, data))) {
                Some((values, data)) => put_bytes(&mut graph, INITIALISER, &tensor(&data, values)?),
                None => graph.extend_from_slice(&inner[field.start..field.end]),
            }
        }
        put_bytes(&mut model, GRAPH, &graph);
    }
    match left.keys().next() {
        Some(name) => Err(format!("the model has no initialiser `{name}`")),
        None => Ok(model),
    }
}

/// A tensor of the same type and shape with these values.
fn tensor(data: &TensorData<'_>, values: &[f64]) -> Result<Vec<u8>, String> {
    let name = data.name;
    let count = crate::elements::count(&data.dimensions, u64::MAX);
    if count != Some(values.len()) {
        return Err(format!(
            "`{name}` has the shape {:?}, and there are {} values for it",
            data.dimensions,
            values.len()
        ));
    }
    let raw: Vec<u8> = match data.data_type {
        1 => values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect(),
        11 => values.iter().flat_map(|&value| value.to_le_bytes()).collect(),
        other => {
            let kind = crate::elements::type_name(other);
            return Err(format!("`{name}` is of {kind}; weights are written back as float or double"));
        }
    };
    let mut bytes = Vec::new();
    for &extent in &data.dimensions {
        put_integer(&mut bytes, 1, extent as u64);
    }
    put_integer(&mut bytes, 2, data.data_type as u64);
    put_bytes(&mut bytes, 8, name.as_bytes());
    put_bytes(&mut bytes, 9, &raw);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::File;
    use crate::elements::constants;

    const MODEL: &[u8] = include_bytes!("../../../examples/digits_mlp.onnx");

    #[test]
    fn values_are_exchanged_and_nothing_else() {
        let values: Vec<f64> = (0..10).map(|n| f64::from(n) / 4.0).collect();
        let changed = with_values(MODEL, &BTreeMap::from([("intercepts1".to_owned(), values.clone())])).unwrap();
        let (before, after) = (File::decode(MODEL).unwrap(), File::decode(&changed).unwrap());
        assert_eq!(before.text, after.text);
        for (old, new) in before.model.graph.initialisers.iter().zip(&after.model.graph.initialisers) {
            let read = |data| constants(data, 1 << 20, &|_| Err("none".into())).map(|constants| constants.values).ok();
            let wanted = if new.name == "intercepts1" { Some(values.clone()) } else { read(old) };
            assert_eq!(read(new), wanted, "{}", new.name);
        }
        // Once more with the same values changes no byte.
        assert_eq!(with_values(&changed, &BTreeMap::from([("intercepts1".to_owned(), values)])).unwrap(), changed);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |name: &str, count: usize| {
            with_values(MODEL, &BTreeMap::from([(name.to_owned(), vec![0.0; count])])).unwrap_err()
        };
        assert!(refused("nowhere", 1).contains("no initialiser `nowhere`"));
        assert!(refused("intercepts1", 9).contains("9 values"));
        assert!(refused("classes", 10).contains("int32"));
    }
}
