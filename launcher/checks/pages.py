"""What `launch explain CODE` prints, for every finding up to the plan."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from launcher.checks import CHECKS, codes_of
from launcher.checks.allow import unknown_allowed
from launcher.checks.audit import AUDITS
from launcher.model.findings import EXPLANATIONS
from launcher.roles.base import Adapters
from launcher.roles.rehearsal import CODES as REHEARSAL
from launcher.text.parse import CODES as UNREADABLE


def pages(adapters: Adapters) -> Mapping[str, str]:
    """Code → its page; the first line is its summary."""
    rules: Mapping[str, Callable[..., Any]] = {**CHECKS, **AUDITS, "unknown-allowed": unknown_allowed}
    made = {code: inspect.getdoc(rule) or "" for code, rule in rules.items()}
    return {**UNREADABLE, **EXPLANATIONS, **REHEARSAL, **codes_of(adapters), **made}
