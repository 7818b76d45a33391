//! Programs whose every value is a whole or dyadic number within the word: golden, plain, fixed and array are equal to it, tolerance zero.
//!
//! `scripts/soak exact` runs as many as one wants.

mod oracle;
mod planted;
mod rendered;

use oracle::{Source, Verdict, trial};

/// Programs of each language, from words of 8 bits to words of 32.
#[test]
fn exact_programs_are_exact_on_every_engine() {
    let (mut equal, mut refused) = (0, 0);
    for number in 0..400 {
        match trial(1, number, number % 10 == 0) {
            Verdict::Equal => equal += 1,
            Verdict::Refused(why) => {
                println!("{number}: {why}");
                refused += 1;
            }
            Verdict::Differs(why) => panic!("program {number} of seed 1: {why}"),
        }
    }
    assert!(refused <= 8, "{refused} of 400 refused");
    println!("{equal} equal, {refused} refused");
}

/// A generator without an operation tests nothing about it.
#[test]
fn the_generator_says_everything() {
    let texts: Vec<String> = (0..1200).map(|number| oracle::case(1, number).text()).collect();
    let words = [
        "fabs(",
        "abs(",
        "floor(",
        "ceil(",
        "round(",
        "trunc(",
        "int32(",
        "copysign(",
        " # ",
        "pi[",
        "max(",
        "min(",
        "sum[",
        " ? ",
        "select(",
        "Where",
        "ArgMax",
        "Gather",
        "ReduceSum",
        "ReduceL1",
        "MatMul",
        "ReduceProd",
        "Hardmax",
        "Sign",
        "Round",
        ") & ",
        " | ",
        " ^ ",
        " << ",
        " >> ",
    ];
    for word in words {
        let count = texts.iter().filter(|text| text.contains(word)).count();
        assert!(count >= 10, "{count} of 1200 programs have {word}");
    }
    for source in Source::ALL {
        assert!((0..1200).filter(|&number| oracle::case(1, number).source == source).count() > 100);
    }
}
