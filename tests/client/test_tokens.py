from __future__ import annotations

from judge.client.tokens import estimate_tokens
from tests.client.asking import PICTURE


def test_letters_weigh_less_than_characters_and_pictures_nothing() -> None:
    content = [{"type": "text", "text": "点" * 300}, PICTURE]
    assert estimate_tokens([{"content": "a" * 400}]) == 100
    assert estimate_tokens([{"content": content}]) == 200
    assert estimate_tokens([{"content": "a" * 400}, {"content": content}]) == 300
