//! Operators that are not supported, and those that do the same.

/// A remedy for an operator that is not supported: operators that are, or that there are none.
pub(super) fn of(operator: &str) -> &'static str {
    match operator {
        "BIDIRECTIONAL_SEQUENCE_LSTM" => {
            "two `UNIDIRECTIONAL_SEQUENCE_LSTM`, `REVERSE_V2` and `CONCATENATION` do the same"
        }
        "BIDIRECTIONAL_SEQUENCE_RNN" => {
            "two `UNIDIRECTIONAL_SEQUENCE_RNN`, `REVERSE_V2` and `CONCATENATION` do the same"
        }
        "CONV_3D_TRANSPOSE" => "`TRANSPOSE_CONV` does the same in two dimensions",
        "ATAN2" | "COMPLEX_ABS" | "REAL" | "IMAG" | "RFFT2D" => {
            "complex numbers and angles are not computed with: let the host do that"
        }
        "DENSIFY" => "convert the model without sparse weights",
        "FAKE_QUANT" => "`QUANTIZE` and `DEQUANTIZE` do the same: convert the model for integers",
        "IF" | "WHILE" | "CALL" | "CALL_ONCE" | "STABLEHLO_WHILE" | "STABLEHLO_CASE" => {
            "write the loop out, or use a recurrent layer; of a condition that is constant convert one branch"
        }
        "VAR_HANDLE" | "READ_VARIABLE" | "ASSIGN_VARIABLE" => "make the state an input and an output of the model",
        "RANDOM_STANDARD_NORMAL" | "RANDOM_UNIFORM" | "MULTINOMIAL" | "STABLEHLO_RNG_BIT_GENERATOR" => {
            "results are the same in every run: let the host draw the values, and make them an input"
        }
        "NON_MAX_SUPPRESSION_V4" | "NON_MAX_SUPPRESSION_V5" | "TFLITE_DETECTION_POSTPROCESS" => {
            "there is no equivalent here: let the model end before it, and choose boxes on the host"
        }
        "MATRIX_DIAG" | "MATRIX_SET_DIAG" => "`MUL` with a constant matrix and `ADD` do the same",
        "SEGMENT_SUM" | "UNSORTED_SEGMENT_SUM" => "`BATCH_MATMUL` with a constant matrix does the same",
        "SPARSE_TO_DENSE" | "SCATTER_ND" => "`ONE_HOT` and `BATCH_MATMUL` do the same",
        "EMBEDDING_LOOKUP_SPARSE" => "`EMBEDDING_LOOKUP` and `SUM` do the same",
        "BUCKETIZE" => "`GREATER_EQUAL` with the boundaries and `SUM` do the same",
        "REVERSE_SEQUENCE" => "`REVERSE_V2` does the same for sequences of one length",
        "DYNAMIC_UPDATE_SLICE" => "`CONCATENATION` of slices does the same where the place is constant",
        "HASHTABLE" | "HASHTABLE_FIND" | "HASHTABLE_LOOKUP" | "UNIQUE" | "WHERE" => {
            "there is no equivalent here: shapes are fixed, so compute this on the host"
        }
        stable if stable.starts_with("STABLEHLO_") => "convert the model to operators of TFLite, without StableHLO",
        _ => "there is no equivalent here: let the host compute it, or the model end before it",
    }
}
