"""Screenshots as they are stored → Pictures: described, checked, scaled; what is wrong with the others.

Not covered: where a picture stands in a prompt (tests/prompt) and what becomes of it on the way to an
endpoint (tests/pipeline/test_screenshots.py).
"""

from __future__ import annotations

import hashlib
import os
import zlib
from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import pytest

from judge import Trajectory, pictures

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def picture(size=(64, 32), mode="RGB", color=None) -> Image.Image:
    image = Image.new(mode, size, color if color is not None else 0)
    for x in range(size[0]):
        image.putpixel(
            (x, x % size[1]), color if color is not None else Image.new(mode, (1, 1), 1).getpixel((0, 0))
        )
    return image


def encoded(image: Image.Image, form: str, **options) -> bytes:
    out = BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


PNG = encoded(picture(), "PNG")
JPEG = encoded(picture((80, 40)), "JPEG")


def sent(screenshot, max_px=1024) -> tuple[str, Image.Image]:
    """The media type and the opened image of what would go out."""
    shown = pictures.show(screenshot, max_px)
    assert shown.is_shown, shown.words
    head, _, data = shown.data_url().partition(",")
    image = Image.open(BytesIO(b64decode(data)))
    image.load()
    return head.removeprefix("data:").removesuffix(";base64"), image


@pytest.fixture
def file(tmp_path: Path):
    def write(data: bytes, name: str = "shot.png") -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


def stored_ways(path: Path) -> dict[str, object]:
    data = path.read_bytes()
    text = b64encode(data).decode()
    return {
        "path": path,
        "text path": str(path),
        "file URL": f"file://{path}",
        "quoted file URL": f"file://{path}".replace("shot", "%73hot"),
        "data URL": f"data:image/png;base64,{text}",
        "bytes": data,
        "bytearray": bytearray(data),
        "dataset": {"bytes": data, "path": "somewhere.png"},
        "dataset path": {"bytes": None, "path": str(path)},
        "chat": {"url": f"data:image/png;base64,{text}"},
    }


@pytest.mark.parametrize("way", stored_ways(Path(os.devnull)))
def test_every_way_of_storing_shows_the_same_bytes(file, way):
    screenshot = stored_ways(file(PNG))[way]
    shown = pictures.show(screenshot, 1024)
    assert (shown.media_type, shown.size, shown.width, shown.height) == ("image/png", len(PNG), 64, 32)
    assert shown.sha256 == hashlib.sha256(PNG).hexdigest()
    assert b64decode(shown.data_url().partition(",")[2]) == PNG


@pytest.mark.parametrize(
    "data", [encoded(picture((300, 200), color=(3, 5, 8)), form) for form in ("PNG", "JPEG", "GIF", "WEBP")]
)
def test_base64_without_a_data_url_is_known_by_how_it_begins(data):
    data += b"\0" * (256 - len(data))
    assert sent(b64encode(data).decode())[1].size == (300, 200)


@pytest.mark.parametrize(
    "spell",
    [
        lambda text: "\n".join(text[at : at + 76] for at in range(0, len(text), 76)) + "\n",
        lambda text: f" {text}\r\n",
        lambda text: text.rstrip("="),
        lambda text: text.replace("=", "%3D").replace("+", "%2B").replace("/", "%2F"),
    ],
    ids=["broken lines", "blanks", "no padding", "quoted"],
)
def test_base64_is_read_as_browsers_read_it(spell):
    data = PNG + b"\xfb\xff\xbf" * 2 + b"\0" * (-len(PNG) % 3 + 1)
    text = b64encode(data).decode()
    assert all(sign in text for sign in "+/=")
    shown = pictures.show(f"data:image/png;base64,{spell(text)}", 1024)
    assert (shown.fault, shown.sha256) == (None, hashlib.sha256(data).hexdigest())


def test_an_image_in_memory_is_shown_as_png():
    shown = pictures.show(picture(), 1024)
    assert (shown.media_type, shown.size, shown.width, shown.height) == ("image/png", None, 64, 32)
    kind, image = sent(picture())
    assert (kind, image.size) == ("image/png", (64, 32))
    assert pictures.show(picture(), 1024).key == shown.key
    assert pictures.show(picture(color=(9, 9, 9)), 1024).key != shown.key


@pytest.mark.parametrize(
    ("size", "max_px", "expected"),
    [
        ((64, 32), 64, (64, 32)),
        ((64, 32), 32, (32, 16)),
        ((32, 64), 16, (8, 16)),
        ((2000, 1), 1000, (1000, 1)),
    ],
)
@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_no_side_is_longer_than_asked_for(size, max_px, expected, form):
    kind, image = sent(encoded(picture(size), form), max_px)
    assert (kind, image.size) == (f"image/{form.lower()}", expected)


@pytest.mark.parametrize(("form", "mode"), [("BMP", "RGB"), ("TIFF", "CMYK"), ("GIF", "P"), ("PPM", "L")])
def test_what_endpoints_do_not_take_goes_out_as_png(form, mode):
    shown = pictures.show(encoded(picture(mode=mode), form), 1024)
    assert shown.media_type.startswith("image/")
    kind, image = sent(encoded(picture(mode=mode), form))
    assert (kind, image.size) == ("image/png", (64, 32))


@pytest.mark.parametrize(
    ("form", "mode"),
    [
        *(("PNG", mode) for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")),
        ("JPEG", "CMYK"),
        ("JPEG", "L"),
    ],
)
def test_any_colours_can_be_scaled(form, mode):
    assert sent(encoded(Image.new(mode, (64, 32)), form), 16)[1].size == (16, 8)


def test_a_transparent_picture_stays_transparent():
    _, image = sent(encoded(Image.new("RGBA", (64, 32), (1, 2, 3, 0)), "PNG"), 16)
    assert image.getpixel((3, 3))[3] == 0


def test_colours_of_a_palette_count():
    red, blue = (Image.new("P", (4, 4), 0) for _ in range(2))
    red.putpalette([255, 0, 0])
    blue.putpalette([0, 0, 255])
    assert not pictures.same(red, blue)
    assert pictures.show(red, 64).key != pictures.show(blue, 64).key
    names = {
        Trajectory(instruction="Look", steps=[{"screenshot": image}]).trajectory_id for image in (red, blue)
    }
    assert len(names) == 2


def test_an_image_that_is_read_at_its_first_use_may_be_used_by_many_threads():
    data = encoded(Image.effect_noise((1000, 800), 50).convert("RGB"), "PNG")
    for _ in range(5):
        image = Image.open(BytesIO(data))
        with ThreadPoolExecutor(6) as threads:
            shown = [*threads.map(lambda _, image=image: pictures.show(image, 1024), range(6))]
        assert {each.fault for each in shown} == {None}
        assert len({each.key for each in shown}) == 1


@pytest.mark.parametrize("max_px", [1024, 16])
def test_a_file_that_is_written_over_does_not_go_out_as_what_it_was(file, max_px):
    shown = pictures.show(path := file(PNG), max_px)
    path.write_bytes(JPEG)
    with pytest.raises(ValueError, match=r"^its content has changed$"):
        shown.data_url()
    path.unlink()
    with pytest.raises(ValueError, match=r"^no such file or directory$"):
        shown.data_url()


def test_an_image_that_was_closed_is_said_to_be_gone():
    shown = pictures.show(image := picture(), 1024)
    image.close()
    with pytest.raises(ValueError, match="closed"):
        shown.data_url()


def test_an_image_that_cannot_be_read_can_be_named():
    image = Image.open(BytesIO(PNG[: len(PNG) // 2]))
    named = Trajectory(instruction="Look", steps=[{"screenshot": image}])
    assert named.trajectory_id.startswith("sha256:")
    assert pictures.show(image, 64).fault


class Array:
    """As NumPy's: neither true nor false."""

    def __bool__(self):
        raise ValueError("ambiguous")


UNREADABLE = {
    "cut PNG": PNG[: len(PNG) // 2],
    "cut JPEG": JPEG[: len(JPEG) // 2],
    "text": b"not an image at all",
    "empty": b"",
    "data URL without data": "data:image/png;base64",
    "data URL of no base64": "data:image/png;base64,!!!",
    "network": "https://example.com/shot.png",
    "missing": "/no/such/folder/shot.png",
    "null byte": "shot\0.png",
    "long name": "x" * 5000,
    "number": 7,
    "empty dataset": {"bytes": None, "path": None},
    "list": [1, 2],
    "no pixels": Image.new("RGB", (0, 4)),
    "dataset of an array": {"bytes": Array(), "path": None},
}


@pytest.mark.parametrize("screenshot", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_has_a_fault_and_is_not_shown(screenshot):
    shown = pictures.show(screenshot, 1024)
    assert shown.fault
    assert not shown.is_shown
    assert shown.words == f"cannot be read: {shown.fault}"
    with pytest.raises(ValueError, match="not to be shown"):
        shown.data_url()


def test_a_fault_does_not_name_the_place(tmp_path):
    for place in (tmp_path / "absent.png", tmp_path):
        assert str(tmp_path) not in pictures.show(place, 1024).words
        assert str(tmp_path) not in pictures.mention(place).words


def test_a_picture_of_more_pixels_than_memory_is_refused():
    claimed = bytearray(PNG)
    claimed[16:24] = (9_000).to_bytes(4, "big") + (9_000).to_bytes(4, "big")
    claimed[29:33] = zlib.crc32(bytes(claimed[12:29])).to_bytes(4, "big")
    assert "9000 x 9000 px" in pictures.show(bytes(claimed), 1024).words


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (PNG, f"image/png, {len(PNG)} bytes"),
        (JPEG, f"image/jpeg, {len(JPEG)} bytes"),
        (encoded(picture(), "WEBP"), "image/webp, "),
        (b"plain", "unknown type, 5 bytes"),
        (picture(), "image, 64 x 32 px"),
    ],
)
def test_a_mention_tells_type_and_size(data, words):
    assert pictures.mention(data).words.startswith(words)
    assert not pictures.mention(data).is_shown


def test_a_mention_of_a_file_is_that_of_its_bytes(file):
    assert pictures.mention(str(file(JPEG))) == pictures.mention(JPEG)


def test_the_same_is_the_same_content(file):
    one, other, third = file(PNG, "a.png"), file(PNG, "b.png"), file(JPEG, "c.png")
    assert pictures.same(str(one), str(other))
    assert pictures.same(one, f"data:image/png;base64,{b64encode(PNG).decode()}")
    assert not pictures.same(str(one), str(third))
    assert pictures.same(picture(), picture())
    assert not pictures.same(picture(), picture((8, 8)))
    assert pictures.same(None, None)
    assert not pictures.same(None, str(one))
    assert not pictures.same("absent-a.png", "absent-b.png")
    assert pictures.same("absent-a.png", "absent-a.png")


def test_a_file_that_changes_is_another_picture(file):
    before = pictures.show(path := file(PNG), 1024)
    file(JPEG)
    os.utime(path, ns=(1, 1))
    after = pictures.show(path, 1024)
    assert (before.media_type, after.media_type) == ("image/png", "image/jpeg")
    assert pictures.show(path, 16).key != after.key


def test_the_public_screenshots_are_whole_and_fit():
    folder = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "web_gui" / "screenshots"
    if not folder.is_dir():
        pytest.skip("the shared screenshots are not here")
    shown = [pictures.show(path, 1024) for path in sorted(folder.iterdir())]
    assert len(shown) == 103
    assert {(each.media_type, each.fault) for each in shown} == {("image/jpeg", None)}
    assert max(max(each.width, each.height) for each in shown) == 960
