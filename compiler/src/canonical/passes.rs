//! The passes by name, in the order in which [`canonicalise`](super::canonicalise) runs them.

use super::indices::{conditions, constants, digits, dimensions, equations, gathers, overwritten, units};
use super::sums::{chain, exponentials, rates, scales, starts};
use super::{
    Options, align, boxes, contents, dead, duplicate, empty, fold, fuse, infinite, logic, names, spelled, split, steps,
    update,
};
use crate::optimisations::Optimisation;
use crate::tensor::Program;
use arch::Diagnostic;

/// A pass: a program becomes another with the same meaning.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    /// Its name, that of its function.
    pub name: &'static str,
    /// What it does, in one line.
    pub does: &'static str,
    /// The means that it is, if the program could do without.
    pub(super) optimisation: Option<Optimisation>,
    run: fn(&Program, &Options) -> Result<Program, Vec<Diagnostic>>,
}

impl Pass {
    /// The pass of a name.
    pub fn named(name: &str) -> Option<&'static Pass> {
        PASSES.iter().find(|pass| pass.name == name)
    }

    /// Run it. Most passes do not look at the options.
    ///
    /// # Errors
    /// What cannot be done to the user's program.
    pub fn run(&self, program: &Program, options: &Options) -> Result<Program, Vec<Diagnostic>> {
        (self.run)(program, options)
    }
}

/// A row of [`PASSES`] for a pass that needs no options and always succeeds.
macro_rules! pass {
    ($module:ident::$function:ident, $does:literal) => {
        pass!($module::$function, $does, None)
    };
    ($module:ident::$function:ident, $does:literal, $optimisation:expr) => {
        Pass {
            name: stringify!($function),
            does: $does,
            optimisation: $optimisation,
            run: |program, _| Ok($module::$function(program)),
        }
    };
}

/// All passes in their order; some run more than once.
pub const PASSES: &[Pass] = &[
    pass!(names::record_names, "names of the source go into the origins of what computes them"),
    Pass {
        name: "select_results",
        optimisation: None,
        does: "names and updates that nobody asks for go",
        run: |program, options| Ok(names::select_results(program, &options.keep)),
    },
    pass!(contents::separate_contents, "what is input and result at once becomes two tensors"),
    Pass {
        name: "vectorise",
        optimisation: None,
        does: "what depends on the sample gets the batch as its first dimension",
        run: |program, options| match options.batch.size {
            0 | 1 => Ok(program.clone()),
            _ => update::vectorise(program, options.batch),
        },
    },
    Pass {
        name: "lower_descents",
        optimisation: None,
        does: "gradient descent becomes nests",
        run: |program, options| Ok(update::lower_descents(program, options.batch)),
    },
    pass!(dead::remove_dead_nests, "nests that nothing depends on go"),
    pass!(empty::remove_empty, "nests without points go, and names of what has no elements"),
    pass!(units::remove_unit_loops, "loops of one value go"),
    pass!(infinite::replace_infinities, "infinities that are computed with become numbers beyond all others"),
    pass!(exponentials::shift_exponentials, "sums of exponentials count exponents from the largest one"),
    pass!(digits::split_digits, "iterators that an index divides become quotient and remainder"),
    pass!(gathers::expand_gathers, "computed indices become moved copies, or sums over a comparison with them"),
    pass!(constants::name_constants, "what depends on iterators alone becomes a tensor of constants"),
    pass!(equations::solve_equations, "equations between iterators take iterators away"),
    pass!(
        dimensions::split_dimensions,
        "dimensions that are counted in two digits become two",
        Some(Optimisation::Digits)
    ),
    pass!(boxes::split_boxes, "conditions on iterators become bounds"),
    pass!(conditions::mask_conditions, "other conditions become factors, and zeros around what is read"),
    pass!(overwritten::remove_overwritten, "what is written again before it is read goes"),
    pass!(spelled::recognise_functions, "functions that are spelled by exponentials become those of the table"),
    pass!(split::name_operands, "operands that logic repeats get names"),
    pass!(logic::expand_bits, "bits and shifts of two numbers become arithmetic on digits"),
    pass!(logic::store_recomputed, "what is compared with itself or its extreme is computed once"),
    pass!(logic::rewrite_logic, "comparison, choice, rounding and library functions become arithmetic"),
    pass!(fold::fold_constants, "what is constant is computed, until nothing changes"),
    pass!(fuse::forward_copies, "results are written where they are copied to"),
    pass!(fuse::fuse_maps, "element-wise definitions move to where they are read"),
    pass!(fuse::merge_sums, "sums of sums become one sum"),
    pass!(fold::fold_constants, "what is constant is computed, until nothing changes"),
    pass!(dead::remove_dead_nests, "nests that nothing depends on go"),
    pass!(rates::rates_after_sums, "the rate of a batch is applied after the sum over its samples"),
    pass!(rates::rates_into_sums, "the rate multiplies a summand where that is less work"),
    pass!(
        scales::scales_into_sums,
        "a power of two between a sum and a function becomes part of the sum",
        Some(Optimisation::Scales)
    ),
    pass!(split::split_into_primitives, "each nest becomes nests of one operation"),
    pass!(duplicate::share_duplicates, "what is computed twice is computed once"),
    pass!(
        starts::starts_into_sums,
        "a weight that is added to a sum is where the sum starts",
        Some(Optimisation::Starts)
    ),
    pass!(dead::remove_dead_nests, "nests that nothing depends on go"),
    pass!(chain::shorten_chains, "the parts of a difference go into the sum that waits for it"),
    pass!(align::align_origins, "temporaries count their elements as the tensors around them do"),
    Pass {
        name: "part_steps",
        does: "what changes a weight with a rounding of its own becomes one term beside it",
        optimisation: None,
        run: steps::part_steps,
    },
    pass!(update::updates_last, "next values of states are computed last"),
    pass!(dead::remove_dead_tensors, "tensors that nothing mentions go"),
];
