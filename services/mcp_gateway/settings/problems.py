"""Pydantic's findings in an operator's words: the key with its dotted path, what is wrong, what to do."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound=BaseModel)

KINDS = {type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "text"}


def checked(model: type[Model], value: object, where: str, problems: list[str]) -> Model | None:
    """The model of what is valid in `value`; what is not is added to `problems` and left out.

    So that the checks that follow see all that can be seen, and one run lists every fault. None when a part without
    which the model cannot be is missing.
    """
    if not isinstance(value, Mapping):
        problems.append(f"{where or 'the configuration'}: must be a mapping of keys, not {kind(value)}")
        return None
    try:
        return model.model_validate(value)
    except ValidationError as fault:
        errors = fault.errors(include_url=False, include_input=True, include_context=True)
        problems.extend(_words(model, where, error) for error in errors)
    wrong = {error["loc"][0] for error in errors if error["loc"]}
    try:
        return model.model_validate({key: part for key, part in value.items() if key not in wrong})
    except ValidationError:
        return None


def kind(value: object) -> str:
    """What kind of value was found, without the value: it may be a secret in the wrong place."""
    if isinstance(value, Mapping):
        return "a mapping"
    return KINDS.get(type(value), "a list" if isinstance(value, list) else "something else")


def meant(name: str, known: Iterable[str]) -> str:
    """`; did you mean …?` when one of the known names is close, else nothing."""
    close = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.7)
    return f"; did you mean {close[0]}?" if close else ""


def dotted(where: str, parts: Iterable[object]) -> str:
    """`clients.0.name`."""
    return ".".join([*([where] if where else []), *(str(part) for part in parts)])


def _words(model: type[BaseModel], where: str, error: ErrorDetails) -> str:
    place = dotted(where, error["loc"])
    found = error["type"]
    if found == "extra_forbidden":
        known = _fields(model, error["loc"][:-1])
        return f"{place}: unknown key{meant(str(error['loc'][-1]), known) or '; known are ' + ', '.join(known)}"
    if found == "missing":
        return f"{place}: missing; add it"
    if found == "value_error":
        return f"{place}: {error['msg'].removeprefix('Value error, ')}"
    message = error["msg"].replace("Input should be", "must be").replace("Input should have", "must have")
    wrong_kind = f", not {kind(error['input'])}" if found.endswith("_type") else ""
    return f"{place}: {message[:1].lower()}{message[1:]}{wrong_kind}"


def _fields(model: type[BaseModel], parts: Iterable[object]) -> list[str]:
    """The keys that the model at this place knows."""
    for part in parts:
        field = model.model_fields.get(str(part))
        inner = _model_in(field.annotation) if field else None
        if inner is not None:
            model = inner
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)
