//! Bytes as a saved model.

use workbench::ModelFile;

/// Nothing here may panic; what is accepted can be asked for the weights of a program.
pub(crate) fn read(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    if let Ok(file) = ModelFile::from_text("model.json", &text) {
        let weights: Vec<(String, usize)> = file.model.iter().map(|(name, values)| (name.clone(), values.len())).collect();
        assert!(file.check("model.json".as_ref(), &file.program_hash, &weights).is_ok());
        let _ = (file.encoding.classes(), file.encoding.inputs());
    }
}
