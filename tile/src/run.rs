// Included by the examples: the elements of a program's first result.
fn run(program: &tile::Program, inputs: &[&[f64]]) -> Vec<f64> {
    let mut golden = sim::golden::Golden::new(program);
    let hosts = (0..program.tensors.len()).filter(|&n| program.tensors[n].role == compiler::tensor::Role::Input);
    for (number, values) in hosts.zip(inputs) {
        golden.set(compiler::tensor::TensorId(number), values);
    }
    golden.step().expect("the values are right");
    golden.values(program.names[0].1).expect("every element has a value").to_vec()
}
