//! Diagnostics of a program, limited to a readable number of errors and warnings.

use arch::Diagnostic;

/// Errors and warnings, each up to a number.
#[derive(Debug, Default)]
pub(super) struct Reports {
    pub(super) diagnostics: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
    most: usize,
}

impl Reports {
    /// Keep this many of each: those beyond the limit of one run are dropped in source order, later.
    pub(super) fn up_to(most: usize) -> Reports {
        Reports { most, ..Reports::default() }
    }

    pub(super) fn add(&mut self, diagnostic: Diagnostic) {
        let count = if diagnostic.code.is_warning() { &mut self.warnings } else { &mut self.errors };
        if *count < self.most {
            *count += 1;
            self.diagnostics.push(diagnostic);
        }
    }

    /// Whether nobody wants to hear of more errors.
    pub(super) fn is_full(&self) -> bool {
        self.errors >= self.most
    }

    pub(super) fn any_error(&self) -> bool {
        self.errors > 0
    }
}
