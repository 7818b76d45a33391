//! Weights that stand still in words: their updates round to nothing.

use super::{Outcome, Training};
use arch::{Code, Diagnostic};
use compiler::fixed;
use compiler::rounding::{Rounding, dither, low, most_bits};
use compiler::tensor::Role;
use sim::train::Engines;
use sim::train::moves::{self, AllMoves, Stall};

/// Share of the updates of a weight that have to stall for a warning.
const NEARLY_ALL: f64 = 0.95;
/// The same where the words do not suffice.
const MANY: f64 = 0.25;

impl Training {
    /// Weights that stall in words and not on golden; a sequence is no weight. What is rounded by chance stalls if it never moves.
    pub(super) fn stalls(&self, outcome: &Outcome, lowered: &fixed::Program) -> Vec<Stall> {
        let find = |name: &str| lowered.tensors.iter().find(|tensor| tensor.name == name);
        let least = |name: &str| {
            let tensor = find(&low(name)).or_else(|| find(name))?;
            let is_weight = !self.samples.signature.sequence.iter().any(|sequence| sequence == name);
            is_weight.then(|| libm::ldexp(0.5, -tensor.fraction))
        };
        let mut stalls = moves::stalls(&outcome.results[0].moves, &outcome.last().moves, least);
        stalls.retain(|stall| stall.share >= 1.0 || find(&dither(&stall.tensor)).is_none());
        stalls
    }

    /// Whether another rounding of updates could be asked for.
    pub(super) fn rounds_to_nearest(&self) -> bool {
        let is_gradient = |role: &Role| matches!(role, Role::Gradient(_));
        self.samples.settings.rounding == Rounding::default()
            && self.programs.source.tensors.iter().any(|tensor| is_gradient(&tensor.role))
    }
}

/// How often the weights of a training have changed.
pub(super) fn all_moves(engines: &Engines) -> AllMoves {
    let rest = engines.rest.as_ref().map_or_else(AllMoves::new, |rest| rest.moves());
    moves::sum(engines.full.moves(), &rest)
}

/// Stalls that matter: nearly all updates of a weight, or many where the words do not suffice; `roundings`: whether another rounding is a remedy.
pub(super) fn stalled(stalls: &[Stall], lowered: &fixed::Program, suffices: bool, roundings: bool) -> Vec<Diagnostic> {
    let matters = |stall: &&Stall| stall.share >= if suffices { NEARLY_ALL } else { MANY };
    let warning = |stall: &Stall| {
        let Stall { tensor, share, mean_update, least_update, epochs } = stall;
        let last = epochs
            .last()
            .map_or_else(String::new, |last| format!("; in epoch {} {} of {}", last.epoch, last.stalled, last.updates));
        let message = format!(
            "{:.1} % of the updates of `{tensor}` round to nothing{last}: their mean size is {mean_update:.1e}, and less than \
             {least_update:.1e} moves no word",
            100.0 * share
        );
        let bits = stall.bits(lowered.word);
        let mut help = format!("a rate {:.3} times as large moves them, or words of {bits} bits", stall.times());
        if roundings {
            let wide = bits <= most_bits(lowered.word);
            let master = if wide { format!(" or `master = {bits}`") } else { String::new() };
            help += &format!("; so does `rounding = \"stochastic\"`{master} in [train]");
        }
        let span = lowered.tensors.iter().find(|known| known.name == *tensor).map(|known| known.span);
        Diagnostic { span, ..Diagnostic::global(Code::WarnStall, message) }.with_help(help)
    };
    stalls.iter().filter(matters).map(warning).collect()
}
