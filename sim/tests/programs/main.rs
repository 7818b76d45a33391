//! Programs that people wrote: what they mean, how far fixed point is from that, and that they climb the ladder.

mod conformance;
mod constant_functions;
mod damaged;
mod distance;
mod doubles;
mod few_divisors;
mod golden;
mod identity;
mod ladder;
mod ladder_languages;
mod language_pages;
mod languages;
#[path = "../made_up/mod.rs"]
mod made_up;
mod model_language;
mod more_bits;
mod moves;
mod numeric;
mod optimisations;
mod optimisers;
mod prove;
mod tabla_meaning;

use languages::conformance as cases;
