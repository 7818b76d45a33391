//! Scalar types and their promotion.

use crate::tensor::Element;

/// A scalar type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Bool,
    Int { bits: u32, signed: bool },
    Float { bits: u32 },
}

/// The type of integer literals, size variables and index variables.
pub(super) const INT: Type = Type::Int { bits: 32, signed: true };
/// The type of literals with a point or an exponent.
pub(super) const FLOAT: Type = Type::Float { bits: 32 };

impl Type {
    /// The type a keyword names.
    pub(super) fn of_keyword(word: &str) -> Option<Type> {
        let int = |bits: u32, signed: bool| Some(Type::Int { bits, signed });
        match word {
            "bool" => Some(Type::Bool),
            "uint8" | "byte" => int(8, false),
            "uint16" => int(16, false),
            "uint32" => int(32, false),
            "uint64" => int(64, false),
            "int8" => int(8, true),
            "int16" => int(16, true),
            "int32" => int(32, true),
            "int64" => int(64, true),
            "float16" | "half" => Some(Type::Float { bits: 16 }),
            "float32" | "float" => Some(Type::Float { bits: 32 }),
            "float64" | "double" => Some(Type::Float { bits: 64 }),
            _ => None,
        }
    }

    /// The type that a word of the preprocessor names: a keyword, or one of its own names.
    pub(super) fn of_alias(word: &str) -> Option<Type> {
        match word {
            "i8" | "i16" | "i32" | "i64" => Type::of_keyword(&word.replace('i', "int")),
            "f16" | "f32" | "f64" => Type::of_keyword(&word.replace('f', "float")),
            _ => Type::of_keyword(word),
        }
    }

    /// As it is written.
    pub(super) fn name(self) -> String {
        match self {
            Type::Bool => "bool".into(),
            Type::Int { bits, signed: true } => format!("int{bits}"),
            Type::Int { bits, signed: false } => format!("uint{bits}"),
            Type::Float { bits } => format!("float{bits}"),
        }
    }

    pub(super) fn is_integer(self) -> bool {
        matches!(self, Type::Int { .. })
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Type::Float { .. })
    }

    /// The common type of two operands: the float, the wider float, the wider of two unsigned, else signed of the larger width.
    pub(super) fn promote(self, other: Type) -> Type {
        match (self, other) {
            (a, b) if a == b => a,
            (Type::Float { bits: a }, Type::Float { bits: b }) => Type::Float { bits: a.max(b) },
            (float @ Type::Float { .. }, _) | (_, float @ Type::Float { .. }) => float,
            (Type::Bool, int) | (int, Type::Bool) => int,
            (Type::Int { bits: a, signed: sa }, Type::Int { bits: b, signed: sb }) => {
                Type::Int { bits: a.max(b), signed: sa || sb }
            }
        }
    }

    /// The type in arithmetic: a Boolean alone becomes an integer.
    pub(super) fn arithmetic(self) -> Type {
        if self == Type::Bool { INT } else { self }
    }

    /// Whether every value of `other` is one of this type: an annotation may widen, never narrow.
    pub(super) fn holds(self, other: Type) -> bool {
        match (self, other) {
            (a, b) if a == b => true,
            (Type::Float { bits: a }, Type::Float { bits: b }) => a >= b,
            (_, Type::Bool) | (Type::Float { .. }, Type::Int { .. }) => true,
            (Type::Int { bits: a, signed: sa }, Type::Int { bits: b, signed: sb }) => {
                if sa == sb {
                    a >= b
                } else {
                    sa && a > b
                }
            }
            _ => false,
        }
    }

    /// The element type in tensor IR, which has one kind of real numbers.
    pub(super) fn element(self) -> Element {
        match self {
            Type::Bool => Element::Bool,
            Type::Int { bits, signed } => Element::Int { bits, signed },
            Type::Float { .. } => Element::Real,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Type;

    #[test]
    fn promotion() {
        let promote = |a, b| Type::of_keyword(a).unwrap().promote(Type::of_keyword(b).unwrap()).name();
        assert_eq!(promote("uint8", "uint16"), "uint16");
        assert_eq!(promote("uint32", "int8"), "int32");
        assert_eq!(promote("int64", "half"), "float16");
        assert_eq!(promote("float", "double"), "float64");
        assert_eq!(promote("bool", "float"), "float32");
    }
}
