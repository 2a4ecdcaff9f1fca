"""What the service says is read strictly: an answer that is no completion is a failure, and still has its cost."""

from decimal import Decimal

import pytest

from headwater.ai.request import read_answer
from headwater.ai.types import AiAnswer, AiOptions, AiReply, Charge, NotAnswered, NotAnsweredKind


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": {"content": null}}]}',
     b'{"choices": [{"message": {"content": "  \\u0000 "}}]}', b"\xff", b"[" * 100_000],
    ids=["empty", "html", "list", "object", "none", "null", "blank", "bytes", "deep"],
)  # fmt: skip
def test_a_response_that_is_no_completion_is_a_failure_of_unknown_cost(body: bytes) -> None:
    reply = read_answer(body, "m")

    assert isinstance(reply.outcome, NotAnswered)
    assert reply.outcome.kind is NotAnsweredKind.FAILED
    assert reply.charge == Charge()


def test_a_response_without_its_cost_is_accepted() -> None:
    body = b'{"choices": [{"message": {"content": " It rained.\\r\\n"}}], "usage": null}'

    assert read_answer(body, "m") == AiReply(AiAnswer(" It rained.\r\n", "m", None, None), Charge())


def test_a_response_that_cannot_be_used_has_its_cost() -> None:
    body = b'{"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2, "cost": 0.5}}'

    assert read_answer(body, "m").charge == Charge(7, 2, Decimal("0.5"))


@pytest.mark.parametrize(
    ("usage", "charge"),
    [
        (b'{"prompt_tokens": -1, "completion_tokens": 2.5, "cost": -0.5}', Charge()),
        (b'{"prompt_tokens": "7", "completion_tokens": true, "cost": "0"}', Charge()),
        (b'{"prompt_tokens": 99999999999, "completion_tokens": 1, "cost": 1e300}', Charge(None, 1)),
        (b'{"prompt_tokens": null, "cost": NaN}', Charge()),
        (b"[]", Charge()),
        (b'"free"', Charge()),
    ],
    ids=["negative", "other types", "huge", "not a number", "list", "text"],
)
def test_numbers_that_cannot_be_are_not_read(usage: bytes, charge: Charge) -> None:
    body = b'{"choices": [{"message": {"content": "Hi"}}], "usage": ' + usage + b"}"

    assert read_answer(body, "m").charge == charge


@pytest.mark.parametrize(
    ("code", "kind", "is_free"),
    [(429, NotAnsweredKind.UNAVAILABLE, True), (502, NotAnsweredKind.UNAVAILABLE, False),
     (400, NotAnsweredKind.FAILED, True)],
)  # fmt: skip
def test_a_refusal_with_status_200_is_read_by_its_code(code: int, kind: NotAnsweredKind, is_free: bool) -> None:
    reply = read_answer(b'{"error": {"code": %d, "message": "no"}}' % code, "m")

    assert reply == AiReply(NotAnswered(f"error {code}", kind), Charge(is_free=is_free))


def test_a_refusal_that_reports_a_cost_is_charged() -> None:
    reply = read_answer(b'{"error": {"code": 429}, "usage": {"cost": 0.25}}', "m")

    assert reply.charge == Charge(cost=Decimal("0.25"))


def test_the_name_of_the_model_is_one_short_line() -> None:
    body = b'{"choices": [{"message": {"content": "Hi"}, "finish_reason": "length"}], "model": "a\\n\\u0000b%s"}'

    answer = read_answer(body % (b"x" * 999), "m").outcome

    assert isinstance(answer, AiAnswer)
    assert answer.model == "a b" + "x" * 197
    assert answer.is_cut_off


def test_a_long_answer_is_cut() -> None:
    answer = read_answer(b'{"choices": [{"message": {"content": "%s"}}]}' % (b"x" * 200_000), "m").outcome

    assert isinstance(answer, AiAnswer)
    assert len(answer.content) == 100_000


def test_the_key_is_not_in_the_repr_of_the_options() -> None:
    assert "sk-very-secret" not in repr(AiOptions(api_key="sk-very-secret"))
