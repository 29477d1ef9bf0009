"""Methods as text: `rattle`, `lobatto:stages=3`, `generalized-alpha:constraints=PVA:rho_inf=0.8`.

>>> from stickslip.schemes.spec import label, scheme_of, split_methods
>>> scheme_of("theta:theta=1").theta
1.0
>>> label(scheme_of("theta:theta=1")), label(scheme_of("rattle"))
('theta:theta=1.0', 'rattle')
>>> split_methods("rattle, theta:theta=1")
['rattle', 'theta:theta=1']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from stickslip.errors import OptionError, unknown_name
from stickslip.schemes.scheme import METHODS, Scheme


def scheme_of(method: str | Scheme, options: Mapping[str, Any] | None = None) -> Scheme:
    """The scheme that a text, or a scheme, and further options mean; options override those of the text."""
    options = options or {}
    if isinstance(method, str):
        name, *settings = (word.strip() for word in method.split(":"))
        if name not in METHODS:
            raise OptionError(unknown_name("method", name, METHODS))
        scheme = METHODS[name]()
        given = dict(_setting(scheme, method, text) for text in settings)
        options = given | dict(options)
    elif isinstance(method, Scheme):
        scheme = method
    else:
        raise OptionError(f"method = {method!r} is neither a name nor a scheme; names are {', '.join(sorted(METHODS))}")
    for key in options:
        _require_option(scheme, key)
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in options.items()}
    return replace(scheme, **plain)


def split_methods(text: str) -> list[str]:
    """Several methods, separated by commas."""
    methods = [word.strip() for word in text.split(",")]
    if not all(methods):
        raise OptionError(
            f"methods {text!r}: write names separated by commas, options behind colons, as in rattle,theta:theta=1"
        )
    return methods


def label(scheme: Scheme) -> str:
    """The shortest text that means this scheme: its name and the options that differ from their defaults."""
    default = type(scheme)().options
    return ":".join([scheme.name, *[f"{k}={v}" for k, v in scheme.options.items() if v != default[k]]])


def _setting(scheme: Scheme, method: str, text: str) -> tuple[str, Any]:
    key, equals, value = (word.strip() for word in text.partition("="))
    if not (key and equals and value):
        raise OptionError(f"method {method!r}: write options as NAME:KEY=VALUE, for example theta:theta=1")
    _require_option(scheme, key)
    default = scheme.options[key]
    if isinstance(default, str):
        return key, value
    if isinstance(default, bool):
        if value.lower() not in ("true", "false"):
            raise OptionError(f"method {method!r}: {key} must be true or false")
        return key, value.lower() == "true"
    kinds = (int,) if isinstance(default, int) else (float,) if isinstance(default, float) else (int, float, str)
    for kind in kinds:
        try:
            return key, kind(value)
        except ValueError:
            continue
    raise OptionError(f"method {method!r}: {key} must be {'an integer' if kinds == (int,) else 'a number'}")


def _require_option(scheme: Scheme, key: str) -> None:
    if key not in scheme.options:
        close = get_close_matches(str(key), scheme.options, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        has = ", ".join(sorted(scheme.options)) or "none"
        raise OptionError(f"there is no option {key!r} of method {scheme.name!r}{hint} Its options: {has}")
