//! The user's names: which are wanted, and where each is computed.

use super::Keep;
use crate::tensor::Program;

/// Write the names that the source gives to tensors into the origins of the nests that compute them, before names that nobody asks
/// for go.
///
///     h = sigmoid(s);  name h = h     =>     h = sigmoid(s)  @ as h;  name h = h
pub fn record_names(program: &Program) -> Program {
    let mut result = program.clone();
    for (name, tensor) in &program.names {
        for nest in result.nests.iter_mut().filter(|nest| nest.out == *tensor) {
            nest.origin.add_name(name.clone());
        }
    }
    result
}

/// Leave the names and updates that are wanted.
///
///     keep for training: h;  name h = h; name g = g; w := w.1     =>     name h = h; w := w.1
///     keep for prediction: h                                      =>     name h = h
///     keep for prediction: h, going on with w                     =>     name h = h; w := w.1
pub fn select_results(program: &Program, keep: &Keep) -> Program {
    let mut result = program.clone();
    match keep {
        Keep::AllNames => {}
        Keep::Training { predictions } => result.names.retain(|(name, _)| predictions.contains(name)),
        Keep::Prediction { names, states } => {
            result.names.retain(|(name, _)| names.contains(name));
            result.descents.clear();
            result.updates.retain(|update| states.contains(&program.tensors[update.state.0].name));
        }
    }
    result
}
