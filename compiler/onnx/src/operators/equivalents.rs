//! Operators that are not supported, and those that do the same.

/// A remedy for an operator that is not supported: operators that are, or that there are none.
#[expect(clippy::too_many_lines, reason = "one table: operators and what does the same")]
pub(super) fn of(operator: &str) -> String {
    const HOST: &str = "there is no equivalent here: compute this node on the host; docs/models.md lists the operators";
    let remedy = match operator {
        "FusedConv" | "NhwcFusedConv" | "NhwcConv" => "`Conv`, an activation and `Transpose` do the same",
        "FusedMatMul" | "TransposeMatMul" | "FusedMatMulActivation" => {
            "`Transpose`, `MatMul` and an activation do the same"
        }
        "FusedGemm" | "GemmFastGelu" | "SparseToDenseMatMul" => "`Gemm` and an activation do the same",
        "FastGelu" | "BiasGelu" | "QuickGelu" | "BiasSplitGelu" => {
            "`Add` and `Gelu` (approximate = tanh), or `Sigmoid` and `Mul`, do the same"
        }
        "BiasAdd" | "GatedAdd" => "`Add` and `Mul` do the same",
        "BiasSoftmax" => "`Add` and `Softmax` do the same",
        "BiasDropout" | "BitmaskDropout" | "BitmaskBiasDropout" => "`Add` and `Dropout` do the same",
        "SkipLayerNormalization" | "EmbedLayerNormalization" => "`Gather`, `Add` and `LayerNormalization` do the same",
        "SkipSimplifiedLayerNormalization" | "GatedRMSNorm" => "`Add` and `RMSNormalization` do the same",
        "SkipGroupNorm" | "GroupNorm" => "`Add`, `GroupNormalization` and an activation do the same",
        "MultiHeadAttention"
        | "GroupQueryAttention"
        | "DecoderMaskedMultiHeadAttention"
        | "QAttention"
        | "PackedAttention"
        | "PackedMultiHeadAttention"
        | "LinearAttention"
        | "FlexAttention" => "`Attention` of opset 23, or `MatMul` and `Softmax`, do the same",
        "ExpandDims" => "`Unsqueeze` does the same",
        "MatMulNBits" | "MatMulBnb4" | "MatMulFpQ4" | "GatherBlockQuantized" => {
            "`DequantizeLinear` with `block_size`, and `MatMul` or `Gather`, do the same"
        }
        "MatMulInteger16" | "MulInteger" | "ReduceSumInteger" => {
            "`Cast` to int32 and `MatMul`, `Mul` or `ReduceSum` do the same"
        }
        "DynamicQuantizeLSTM" => "`DequantizeLinear` of the weights and `LSTM` do the same",
        "NhwcMaxPool" | "MaxpoolWithMask" => "`Transpose`, `Mul` and `MaxPool` do the same",
        "QOrderedMatMul" | "QOrderedGelu" | "QOrderedLayerNormalization" => {
            "`DequantizeLinear`, the operator and `QuantizeLinear` do the same"
        }
        "DequantizeWithOrder" | "QuantizeWithOrder" => "`DequantizeLinear` or `QuantizeLinear` does the same",
        "Rfft" | "Irfft" => "`DFT` does the same",
        "ComplexMul" | "ComplexMulConj" => "`Mul`, `Sub` and `Add` of the two parts do the same",
        "CausalConvWithState" => "`Concat` of the state and `Conv` do the same",
        "GridSample" | "RoiAlign" | "CropAndResize" | "MaxRoiPool" => {
            "`Resize` or `Slice` does the same where the places are constants; else compute this node on the host"
        }
        "DeformConv" => "`Conv` does the same where the offsets are 0; else compute this node on the host",
        "AffineGrid" => {
            "if its operands are constants, fold them before the export (`onnxsim`); else compute this node on the host"
        }
        "Bernoulli" | "Multinomial" | "RandomNormal" | "RandomNormalLike" | "RandomUniform" | "RandomUniformLike" => {
            "results are the same in every run: let the host draw the values, and make them an input"
        }
        "CastMap" | "DictVectorizer" => "dictionaries are none of the inputs here: let the host write them as tensors",
        "CategoryMapper" => "`LabelEncoder` from numbers to numbers does the same",
        "StringNormalizer" | "StringConcat" | "StringSplit" | "RegexFullMatch" | "TfIdfVectorizer" | "Tokenizer" => {
            "texts are not computed with: let the host make numbers of them"
        }
        "Adagrad" | "Adam" | "Momentum" | "Gradient" => {
            "a table `[train]` beside the model trains it: docs/models.md#training"
        }
        "MultiThreshold" => "comparisons (`GreaterOrEqual`) and `ReduceSum` do the same",
        _ => HOST,
    };
    if remedy == HOST { HOST.into() } else { format!("{remedy}; docs/models.md lists the operators") }
}
