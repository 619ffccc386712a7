"""Arguments are what their types say or nothing: no coercion, every fault at once, no value repeated."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, field_validator, model_validator

from mcp_gateway.arguments import validate
from mcp_gateway.errors import Code, Refusal
from mcp_gateway.schemas import definition, plain_schema
from mcp_gateway.tools import Arguments, Tool


class Sample(Arguments):
    path: Annotated[str, Field(description="Which.", min_length=1, max_length=100)]
    offset: Annotated[int | None, Field(description="From where.", ge=0)] = None
    lines: Annotated[int | None, Field(description="How many.", ge=1, le=50)] = None
    hours: Annotated[float | None, Field(description="How long.", gt=0)] = None
    action: Annotated[Literal["list", "get"] | None, Field(description="What.")] = None
    strict: Annotated[bool | None, Field(description="Whether.")] = None
    tags: Annotated[list[str] | None, Field(description="Which ones.")] = None

    @field_validator("path")
    @classmethod
    def _relative(cls, value: str) -> str:
        if value.startswith("/"):
            raise ValueError("must be relative to the vault")
        return value

    @model_validator(mode="after")
    def _one(self) -> "Sample":
        if self.offset and self.lines:
            raise ValueError("give either offset or lines")
        return self


async def run(call: Any, arguments: Any) -> dict[str, object]:
    return {}


TOOL = Tool("sample_read", "sample", "Read.", Sample, run)


def hint_of(arguments: dict[str, object]) -> str:
    with pytest.raises(Refusal) as caught:
        validate(TOOL, arguments)
    assert caught.value.code == Code.BAD_ARGUMENT
    return caught.value.hint


def test_valid_arguments_are_typed() -> None:
    typed = validate(TOOL, {"path": "a", "offset": 3, "hours": 1, "strict": False})
    assert typed == Sample(path="a", offset=3, hours=1.0, strict=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "'path' is missing; it must be text of at least 1 and at most 100 characters."),
        ({"path": 5}, "'path' must be text of at least 1 and at most 100 characters, not a whole number."),
        ({"path": None}, "'path' must be text of at least 1 and at most 100 characters, not null."),
        ({"path": ""}, "'path' must be text of at least 1 and at most 100 characters."),
        ({"path": "/a"}, "'path': must be relative to the vault."),
        ({"path": "a", "offset": "5"}, "'offset' must be a whole number of at least 0, not text."),
        ({"path": "a", "offset": 5.0}, "'offset' must be a whole number of at least 0, not a number."),
        ({"path": "a", "offset": True}, "'offset' must be a whole number of at least 0, not true or false."),
        (
            {"path": "a", "offset": None},
            "'offset' must be a whole number of at least 0, not null (leave it out instead).",
        ),
        ({"path": "a", "offset": -1}, "'offset' must be a whole number of at least 0."),
        ({"path": "a", "lines": 51}, "'lines' must be a whole number from 1 to 50."),
        ({"path": "a", "hours": "2"}, "'hours' must be a number of more than 0, not text."),
        ({"path": "a", "hours": True}, "'hours' must be a number of more than 0, not true or false."),
        ({"path": "a", "strict": 1}, "'strict' must be true or false, not a whole number."),
        ({"path": "a", "strict": "true"}, "'strict' must be true or false, not text."),
        ({"path": "a", "action": "drop"}, "'action' must be one of list, get."),
        ({"path": "a", "tags": "x"}, "'tags' must be a list, not text."),
        ({"path": "a", "tags": [1]}, "'tags[0]': "),
        ({"path": "a", "ofset": 1}, "'ofset' is no argument of sample_read (did you mean 'offset'?)."),
        ({"path": "a", "zzz": 1}, "'zzz' is no argument of sample_read."),
        ({"path": "a", "offset": 1, "lines": 1}, "give either offset or lines."),
    ],
)
def test_a_fault_names_the_argument_and_what_is_accepted(arguments: dict[str, object], words: str) -> None:
    assert words in hint_of(arguments)


def test_all_faults_come_at_once_with_the_list_of_what_the_tool_takes() -> None:
    hint = hint_of({"pth": "x", "offset": "1", "lines": 99, "strict": None})
    for words in ("'path' is missing", "'pth' is no argument", "'offset' must", "'lines' must", "'strict' must"):
        assert words in hint
    assert hint.endswith(
        "sample_read takes: path, offset (optional), lines (optional), hours (optional), action (optional), "
        "strict (optional), tags (optional)."
    )


def test_no_value_is_repeated_and_invented_names_are_short_and_harmless() -> None:
    hint = hint_of({"path": ["hunter2"], "offset": "hunter2", "x" * 500: "hunter2", "\x1b[31m": 1, "\ud800": 1})
    assert "hunter2" not in hint
    assert "x" * 41 not in hint
    assert "\x1b" not in hint
    hint.encode()


def test_many_faults_do_not_make_a_long_answer() -> None:
    hint = hint_of({f"invented_{number}": 1 for number in range(1000)})
    assert "and 991 more faults" in hint
    assert len(hint) < 2000


def test_the_schema_has_plain_types_and_says_everything() -> None:
    assert plain_schema(Sample) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Which.", "minLength": 1, "maxLength": 100},
            "offset": {"type": "integer", "description": "From where.", "minimum": 0},
            "lines": {"type": "integer", "description": "How many.", "minimum": 1, "maximum": 50},
            "hours": {"type": "number", "description": "How long.", "exclusiveMinimum": 0},
            "action": {"type": "string", "description": "What.", "enum": ["list", "get"]},
            "strict": {"type": "boolean", "description": "Whether."},
            "tags": {"type": "array", "description": "Which ones.", "items": {"type": "string"}},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


def test_a_type_that_cannot_be_said_plainly_is_a_mistake_of_the_tool() -> None:
    class Either(Arguments):
        value: Annotated[int | str, Field(description="Either.")]

    with pytest.raises(TypeError, match="value: more than one type"):
        plain_schema(Either)


@pytest.mark.parametrize(
    ("writes", "sensitive", "hints"),
    [(False, False, (True, False)), (True, False, (False, False)), (True, True, (False, True))],
)
def test_the_annotations_follow_from_what_the_tool_does(
    writes: bool, sensitive: bool, hints: tuple[bool, bool]
) -> None:
    tool = Tool("x", "x", "X.", Sample, run, writes, sensitive)
    annotations = definition(tool)["annotations"]
    assert (annotations["readOnlyHint"], annotations["destructiveHint"]) == hints
