"""What can go wrong: an exception for each kind, with code, places and the drawing of the source."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass

from tabla_gen import words


@dataclass(frozen=True)
class Diagnostic:
    """A message about a text. Lines and columns are counted from 1; they are None where a message is about no place.

    docs/errors.md explains the codes; options of the command line are arguments here.
    """

    code: str
    severity: str
    message: str
    file: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    label: str | None = None
    help: str | None = None
    rendered: str = ""

    def __post_init__(self) -> None:
        for name in ("message", "label", "help"):
            text = getattr(self, name)
            object.__setattr__(self, name, None if text is None else words.of_python(text))
        object.__setattr__(self, "rendered", words.drawing(self.rendered))

    def __str__(self) -> str:
        return self.rendered.rstrip() or f"{self.severity}[{self.code}]: {self.message}"


class TablaError(Exception):
    """Something is wrong; the classes below say what kind of thing.

    Attributes
    ----------
    code : str
        Stable code of the first diagnostic, or of the failure: `E-SHAPE`, `E-DATA`, `E-TOOL`.
    diagnostics : list of Diagnostic
        All messages; empty if the failure is about no text.
    rendered : str
        Everything as a person reads it, with the lines of the source and marks below them.
    """

    def __init__(
        self, message: str, code: str = "E-INTERNAL", diagnostics: list[Diagnostic] | None = None, rendered: str = ""
    ) -> None:
        message = words.of_python(message)
        super().__init__(message)
        self.code = code
        self.diagnostics = list(diagnostics or [])
        self.rendered = words.drawing(rendered) or message

    def __str__(self) -> str:
        return self.rendered.rstrip()

    def __reduce__(self) -> tuple:
        return type(self), (self.args[0], self.code, self.diagnostics, self.rendered)


class ProgramError(TablaError, ValueError):
    """A program, its settings, a configuration or data are wrong."""


class DoesNotFitError(ProgramError):
    """The program does not fit the machine, or the machine the board."""


class UsageError(TablaError, ValueError):
    """What is asked for makes no sense for this program."""


class MismatchError(TablaError):
    """Two engines that must agree do not: a bug of tabla-gen."""


class SaturatedError(TablaError, ArithmeticError):
    """Values were clipped to their words, and that was not wanted."""


class InaccurateError(TablaError, ArithmeticError):
    """The words do not suffice, and that was not wanted."""


class ToolError(TablaError, RuntimeError):
    """An external tool is missing or failed."""


class FileError(TablaError, OSError):
    """A file cannot be read or written."""


class InternalError(TablaError, RuntimeError):
    """A bug of tabla-gen."""


class TablaWarning(UserWarning):
    """A warning about a program, or about values; `diagnostic` has its place."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic

    def __reduce__(self) -> tuple:
        return type(self), (self.diagnostic,)


def warn(diagnostics: list[Diagnostic]) -> None:
    """Tell the caller of the package about diagnostics."""
    for diagnostic in diagnostics:
        warnings.warn(TablaWarning(diagnostic), stacklevel=4)


def note(text: str) -> None:
    """What may be of interest, for the log `tabla_gen`."""
    logging.getLogger("tabla_gen").info(words.of_python(text))
