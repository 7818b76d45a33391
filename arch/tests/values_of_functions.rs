//! Values of the functions against those of another implementation, in the file beside this one.

use arch::function::Function;

#[test]
fn values_are_those_of_another_implementation() {
    let lines = include_str!("values_of_functions.csv").lines().filter(|line| !line.starts_with('#'));
    let mut compared = vec![0; Function::ALL.len()];
    for line in lines {
        let (name, numbers) = line.split_once(',').expect("a name and numbers");
        let function = *Function::ALL.iter().find(|function| function.name() == name).expect("a function of the table");
        let numbers: Vec<f64> = numbers.split(',').map(|number| number.parse().expect("a number")).collect();
        let (expected, given) = numbers.split_first().expect("a value");
        assert_eq!(given.len(), function.arity(), "{line}");
        let mut arguments = [0.0; 3];
        arguments[..given.len()].copy_from_slice(given);
        let value = function.value(arguments);
        assert!((value - expected).abs() <= 1e-14 * (1.0 + expected.abs()), "{line}: {value}");
        compared[function as usize] += 1;
    }
    for &function in Function::ALL {
        assert!(compared[function as usize] > 0, "no value of {function} in arch/tests/values_of_functions.csv");
    }
}
