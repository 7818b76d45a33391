//! Contents of a file, message by message: the part of `onnx.proto` that is needed, borrowed from the bytes.

use crate::wire::{Damage, Value, fields, varint};

/// Graphs in graphs.
const DEPTH: usize = 16;

/// A whole file.
#[derive(Debug, Clone, Default)]
pub struct Model<'a> {
    /// Version of the format.
    pub ir_version: i64,
    /// Who wrote it.
    pub producer: &'a str,
    /// Domains and their versions.
    pub opsets: Vec<(&'a str, i64)>,
    /// What is computed.
    pub graph: Graph<'a>,
    /// Operators that the file defines.
    pub functions: Vec<Function<'a>>,
}

/// Nodes in the order in which they can be computed.
#[derive(Debug, Clone, Default)]
pub struct Graph<'a> {
    /// Its name.
    pub name: &'a str,
    /// Operations.
    pub nodes: Vec<Node<'a>>,
    /// Constants.
    pub initialisers: Vec<TensorData<'a>>,
    /// Constants of which most elements are 0.
    pub sparse: Vec<Sparse<'a>>,
    /// What is given; of old files, the constants too.
    pub inputs: Vec<ValueInfo<'a>>,
    /// What comes out.
    pub outputs: Vec<ValueInfo<'a>>,
}

/// One operation.
#[derive(Debug, Clone, Default)]
pub struct Node<'a> {
    /// Names of operands; empty: left out.
    pub inputs: Vec<&'a str>,
    /// Names of results; empty: not wanted.
    pub outputs: Vec<&'a str>,
    /// Its name, which may be empty.
    pub name: &'a str,
    /// The operator.
    pub operator: &'a str,
    /// Whose operator; empty: ONNX's own.
    pub domain: &'a str,
    /// Settings.
    pub attributes: Vec<Attribute<'a>>,
}

/// A setting of a node.
#[derive(Debug, Clone, Default)]
pub struct Attribute<'a> {
    /// Its name.
    pub name: &'a str,
    /// Of a function's body: the function's attribute that is meant.
    pub reference: &'a str,
    /// A number.
    pub float: Option<f32>,
    /// A whole number.
    pub integer: Option<i64>,
    /// Text.
    pub text: Option<&'a [u8]>,
    /// Constants.
    pub tensor: Option<TensorData<'a>>,
    /// A body.
    pub graph: Option<Box<Graph<'a>>>,
    /// Numbers.
    pub floats: Vec<f32>,
    /// Whole numbers.
    pub integers: Vec<i64>,
    /// Texts.
    pub texts: Vec<&'a [u8]>,
    /// Sparse constants.
    pub sparse: Option<Sparse<'a>>,
}

/// An operator that the file defines.
#[derive(Debug, Clone, Default)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its domain.
    pub domain: &'a str,
    /// Names of its operands.
    pub inputs: Vec<&'a str>,
    /// Names of its results.
    pub outputs: Vec<&'a str>,
    /// What it does.
    pub nodes: Vec<Node<'a>>,
    /// Attributes with a default.
    pub defaults: Vec<Attribute<'a>>,
    /// Versions of the operators in it.
    pub opsets: Vec<(&'a str, i64)>,
}

/// Constants as they are written.
#[derive(Debug, Clone, Default)]
pub struct TensorData<'a> {
    /// Extents.
    pub dimensions: Vec<i64>,
    /// Number of the element type.
    pub data_type: i64,
    /// Its name.
    pub name: &'a str,
    /// Single-precision numbers, packed or not.
    pub floats: Vec<Value<'a>>,
    /// Small whole numbers, packed or not.
    pub int32s: Vec<Value<'a>>,
    /// Whole numbers, packed or not.
    pub int64s: Vec<Value<'a>>,
    /// Double-precision numbers, packed or not.
    pub doubles: Vec<Value<'a>>,
    /// Whole numbers without a sign, packed or not.
    pub uint64s: Vec<Value<'a>>,
    /// Texts.
    pub texts: Vec<&'a [u8]>,
    /// Little-endian elements.
    pub raw: Option<&'a [u8]>,
    /// Where the elements are, if not in this file: `location`, `offset`, `length`.
    pub external: Vec<(&'a str, &'a str)>,
    /// Whether they are elsewhere.
    pub is_external: bool,
}

/// Constants of which most are 0.
#[derive(Debug, Clone, Default)]
pub struct Sparse<'a> {
    /// The others.
    pub values: TensorData<'a>,
    /// Where they are.
    pub indices: TensorData<'a>,
    /// Extents.
    pub dimensions: Vec<i64>,
}

/// Name and type of a value.
#[derive(Debug, Clone, Default)]
pub struct ValueInfo<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of its element type; 0: not a tensor.
    pub data_type: i64,
    /// Extents, if they are known.
    pub shape: Option<Vec<Dimension<'a>>>,
}

/// An extent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Dimension<'a> {
    /// A number.
    Known(i64),
    /// A name, for what is known later; may be empty.
    Named(&'a str),
}

fn integers(value: Value<'_>, list: &mut Vec<i64>) -> Result<(), Damage> {
    match value {
        Value::Varint(value) => list.push(value as i64),
        Value::Bytes(bytes) => {
            let mut at = 0;
            while at < bytes.len() {
                list.push(varint(bytes, &mut at)? as i64);
            }
        }
        _ => return Err(Damage::Kind),
    }
    Ok(())
}

fn opset(bytes: &[u8]) -> Result<(&str, i64), Damage> {
    let (mut domain, mut version) = ("", 0);
    for field in fields(bytes) {
        let field = field?;
        match field.number {
            1 => domain = field.value.text()?,
            2 => version = field.value.integer()?,
            _ => {}
        }
    }
    Ok((domain, version))
}

impl<'a> Model<'a> {
    /// Read a file.
    ///
    /// # Errors
    /// It is not a message of this kind.
    pub fn decode(bytes: &'a [u8]) -> Result<Model<'a>, Damage> {
        let mut model = Model::default();
        for field in fields(bytes) {
            let field = field?;
            match field.number {
                1 => model.ir_version = field.value.integer()?,
                2 => model.producer = field.value.text()?,
                7 => model.graph = Graph::decode(field.value.bytes()?, 0)?,
                8 => model.opsets.push(opset(field.value.bytes()?)?),
                25 => model.functions.push(Function::decode(field.value.bytes()?)?),
                _ => {}
            }
        }
        Ok(model)
    }

    /// The version of a domain; 1 if it is not named.
    pub fn version(&self, domain: &str) -> i64 {
        let own = |name: &str| if name == "ai.onnx" { "" } else { name }.to_owned();
        let found = self.opsets.iter().find(|(name, _)| own(name) == own(domain));
        found.map_or(1, |&(_, version)| version)
    }
}

impl<'a> Graph<'a> {
    fn decode(bytes: &'a [u8], depth: usize) -> Result<Graph<'a>, Damage> {
        if depth > DEPTH {
            return Err(Damage::Depth);
        }
        let mut graph = Graph::default();
        for field in fields(bytes) {
            let field = field?;
            match field.number {
                1 => graph.nodes.push(Node::decode(field.value.bytes()?, depth)?),
                2 => graph.name = field.value.text()?,
                5 => graph.initialisers.push(TensorData::decode(field.value.bytes()?)?),
                11 => graph.inputs.push(ValueInfo::decode(field.value.bytes()?)?),
                12 => graph.outputs.push(ValueInfo::decode(field.value.bytes()?)?),
                15 => graph.sparse.push(Sparse::decode(field.value.bytes()?)?),
                _ => {}
            }
        }
        Ok(graph)
    }
}

impl<'a> Node<'a> {
    fn decode(bytes: &'a [u8], depth: usize) -> Result<Node<'a>, Damage> {
        let mut node = Node::default();
        for field in fields(bytes) {
            let field = field?;
            match field.number {
                1 => node.inputs.push(field.value.text()?),
                2 => node.outputs.push(field.value.text()?),
                3 => node.name = field.value.text()?,
                4 => node.operator = field.value.text()?,
                5 => node.attributes.push(Attribute::decode(field.value.bytes()?, depth)?),
                7 => node.domain = field.value.text()?,
                _ => {}
            }
        }
        Ok(node)
    }

    /// Its attribute of a name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}

impl<'a> Attribute<'a> {
    fn decode(bytes: &'a [u8], depth: usize) -> Result<Attribute<'a>, Damage> {
        let mut attribute = Attribute::default();
        for field in fields(bytes) {
            let field = field?;
            match field.number {
                1 => attribute.name = field.value.text()?,
                2 => attribute.float = Some(field.value.float()?),
                3 => attribute.integer = Some(field.value.integer()?),
                4 => attribute.text = Some(field.value.bytes()?),
                5 => attribute.tensor = Some(TensorData::decode(field.value.bytes()?)?),
                6 => attribute.graph = Some(Box::new(Graph::decode(field.value.bytes()?, depth + 1)?)),
                7 => match field.value {
                    Value::Four(bytes) => attribute.floats.push(f32::from_le_bytes(bytes)),
                    Value::Bytes(packed) if packed.len() % 4 == 0 => {
                        let number = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                        attribute.floats.extend(packed.chunks_exact(4).map(number));
                    }
                    _ => return Err(Damage::Kind),
                },
                8 => integers(field.value, &mut attribute.integers)?,
                9 => attribute.texts.push(field.value.bytes()?),
                21 => attribute.reference = field.value.text()?,
                22 => attribute.sparse = Some(Sparse::decode(field.value.bytes()?)?),
                _ => {}
            }
        }
        Ok(attribute)
    }
}

impl<'a> Function<'a> {
    fn decode(bytes: &'a [u8]) -> Result<Function<'a>, Damage> {
        let mut function = Function::default();
        for field in fields(bytes) {
            let field = field?;
            match field.number {
                1 => function.name = field.value.text()?,
                4 => function.inputs.push(field.value.text()?),
                5 => function.outputs.push(field.value.text()?),
                7 => function.nodes.push(Node::decode(field.value.bytes()?, 1)?),
                9 => function.opsets.push(opset(field.value.bytes()?)?),
                10 => function.domain = field.value.text()?,
                11 => function.defaults.push(Attribute::decode(field.value.bytes()?, 1)?),
                _ => {}
            }
        }
        Ok(function)
    }
}

impl<'a> TensorData<'a> {
    /// Read a tensor.
    ///
    /// # Errors
    /// It is not a message of this kind.
    pub fn decode(bytes: &'a [u8]) -> Result<TensorData<'a>, Damage> {
        let mut tensor = TensorData::default();
        for field in fields(bytes) {
            let field = field?;
            match field.number {
                1 => integers(field.value, &mut tensor.dimensions)?,
                2 => tensor.data_type = field.value.integer()?,
                4 => tensor.floats.push(field.value),
                5 => tensor.int32s.push(field.value),
                6 => tensor.texts.push(field.value.bytes()?),
                7 => tensor.int64s.push(field.value),
                8 => tensor.name = field.value.text()?,
                9 => tensor.raw = Some(field.value.bytes()?),
                10 => tensor.doubles.push(field.value),
                11 => tensor.uint64s.push(field.value),
                13 => {
                    let (mut key, mut value) = ("", "");
                    for field in fields(field.value.bytes()?) {
                        let field = field?;
                        match field.number {
                            1 => key = field.value.text()?,
                            2 => value = field.value.text()?,
                            _ => {}
                        }
                    }
                    tensor.external.push((key, value));
                }
                14 => tensor.is_external = field.value.integer()? == 1,
                _ => {}
            }
        }
        Ok(tensor)
    }
}

impl<'a> Sparse<'a> {
    fn decode(bytes: &'a [u8]) -> Result<Sparse<'a>, Damage> {
        let mut sparse = Sparse::default();
        for field in fields(bytes) {
            let field = field?;
            match field.number {
                1 => sparse.values = TensorData::decode(field.value.bytes()?)?,
                2 => sparse.indices = TensorData::decode(field.value.bytes()?)?,
                3 => integers(field.value, &mut sparse.dimensions)?,
                _ => {}
            }
        }
        Ok(sparse)
    }
}

impl<'a> ValueInfo<'a> {
    fn decode(bytes: &'a [u8]) -> Result<ValueInfo<'a>, Damage> {
        let mut info = ValueInfo::default();
        for field in fields(bytes) {
            let field = field?;
            match field.number {
                1 => info.name = field.value.text()?,
                2 => {
                    for field in fields(field.value.bytes()?) {
                        let field = field?;
                        if field.number == 1 {
                            info.tensor_type(field.value.bytes()?)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(info)
    }

    fn tensor_type(&mut self, bytes: &'a [u8]) -> Result<(), Damage> {
        for field in fields(bytes) {
            let field = field?;
            match field.number {
                1 => self.data_type = field.value.integer()?,
                2 => {
                    let mut shape = Vec::new();
                    for field in fields(field.value.bytes()?) {
                        let field = field?;
                        if field.number == 1 {
                            shape.push(dimension(field.value.bytes()?)?);
                        }
                    }
                    self.shape = Some(shape);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn dimension(bytes: &[u8]) -> Result<Dimension<'_>, Damage> {
    let mut dimension = Dimension::Named("");
    for field in fields(bytes) {
        let field = field?;
        match field.number {
            1 => dimension = Dimension::Known(field.value.integer()?),
            2 => dimension = Dimension::Named(field.value.text()?),
            _ => {}
        }
    }
    Ok(dimension)
}
