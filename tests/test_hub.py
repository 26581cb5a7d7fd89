"""Files of the hub: whole, checked, pinned, whatever happens to the connection."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_hub import COMMIT, Fault, Hub, serving, use_hub

from repro import hub
from repro.hub import Damaged, Repo

REPO = Repo("tiny/bert", "model")
NAME = "model.safetensors"
CONTENT = bytes(range(256)) * 40
PATH = f"/tiny/bert/resolve/{COMMIT}/{NAME}"
NEWER = "a" * 40


@pytest.fixture
def server() -> Iterator[Hub]:
    with serving({PATH: CONTENT}) as found:
        yield found


@pytest.fixture
def waited(server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return use_hub(monkeypatch, server.address, tmp_path)


@pytest.mark.usefixtures("waited")
def test_a_file_is_downloaded_once_and_its_commit_is_pinned(server: Hub) -> None:
    heard: list[int] = []
    path = hub.fetch(REPO, NAME, heard=heard.append)
    assert path is not None
    assert path.read_bytes() == CONTENT
    assert (sum(heard), hub.commit_of(path), hub.pin_of(REPO)) == (len(CONTENT), COMMIT, COMMIT)
    before = len(server.asked)
    assert hub.fetch(REPO, NAME) == path
    assert len(server.asked) == before


@pytest.mark.usefixtures("waited")
def test_later_files_are_of_the_pinned_commit(server: Hub) -> None:
    hub.fetch(REPO, NAME)
    server.files = {  # the hub's newest commit is another one now
        "/tiny/bert/resolve/main/config.json": b"new",
        f"/tiny/bert/resolve/{COMMIT}/config.json": b"old",
    }
    path = hub.fetch(REPO, "config.json")
    assert path is not None
    assert path.read_bytes() == b"old"


def test_a_cut_connection_is_continued_where_it_broke(server: Hub, waited: list[float]) -> None:
    server.faults["GET"] = [Fault(cut=1000), Fault(cut=500)]
    path = hub.fetch(REPO, NAME)
    assert path is not None
    assert path.read_bytes() == CONTENT
    assert server.ranges == ["", "bytes=1000-", "bytes=1500-"]
    assert waited == [1.0, 1.0]  # more had arrived between them


@pytest.mark.usefixtures("waited")
def test_a_server_without_ranges_sends_the_file_anew(server: Hub) -> None:
    server.sends_ranges = False
    server.faults["GET"] = [Fault(cut=1000)]
    heard: list[int] = []
    path = hub.fetch(REPO, NAME, heard=heard.append)
    assert path is not None
    assert path.read_bytes() == CONTENT
    assert -1000 in heard
    assert sum(heard) == len(CONTENT)


def test_a_second_command_continues_what_the_first_gave_up(
    server: Hub, waited: list[float]
) -> None:
    server.faults["GET"] = [Fault(cut=1000), *[Fault(cut=0)] * 5]
    with pytest.raises(Exception, match=r"(?i)peer closed|incomplete|disconnected"):
        hub.fetch(REPO, NAME)
    assert waited == list(hub.WAITS)
    assert hub.cached(REPO, NAME) is None
    heard: list[int] = []
    server.ranges.clear()
    path = hub.fetch(REPO, NAME, heard=heard.append)
    assert path is not None
    assert path.read_bytes() == CONTENT
    assert server.ranges == ["bytes=1000-"]
    assert heard[0] == 1000


def test_a_busy_hub_is_asked_again_when_it_says(server: Hub, waited: list[float]) -> None:
    """429 comes with Retry-After: 7; a 503 comes without."""
    server.faults["HEAD"] = [Fault(429), Fault(503)]
    server.faults["GET"] = [Fault(500), Fault(429)]
    assert hub.fetch(REPO, NAME) is not None
    assert waited == [7.0, 2.0, 1.0, 7.0]


def test_a_hub_that_stays_down_is_given_up(server: Hub, waited: list[float]) -> None:
    server.faults["HEAD"] = [Fault(503)] * 9
    with pytest.raises(Exception, match="503"):
        hub.fetch(REPO, NAME)
    assert waited == list(hub.WAITS)


@pytest.mark.usefixtures("waited")
@pytest.mark.parametrize("kind", ["sha256", "git"])
def test_content_with_another_checksum_is_refused_and_not_kept(server: Hub, kind: str) -> None:
    other = CONTENT[::-1]
    blob = b"blob %d\0" % len(other) + other
    wrong = {"sha256": hashlib.sha256(other), "git": hashlib.sha1(blob)}[kind].hexdigest()
    server.etags[NAME] = wrong
    with pytest.raises(Damaged, match="checksum is not the hub's"):
        hub.fetch(REPO, NAME)
    assert hub.cached(REPO, NAME) is None
    server.files[PATH] = other
    path = hub.fetch(REPO, NAME)
    assert path is not None
    assert path.read_bytes() == other
    assert hub.is_intact(path)


@pytest.mark.usefixtures("waited")
def test_a_damaged_file_of_the_cache_is_found_and_downloaded_anew() -> None:
    path = hub.fetch(REPO, NAME)
    assert path is not None
    path.resolve().write_bytes(CONTENT[:-1] + b"x")
    assert not hub.is_intact(path)
    hub.forget(path)
    again = hub.fetch(REPO, NAME)
    assert again is not None
    assert again.read_bytes() == CONTENT


@pytest.mark.usefixtures("waited")
def test_what_a_repository_lacks_is_asked_for_once(server: Hub) -> None:
    hub.fetch(REPO, NAME)
    assert hub.fetch(REPO, "added_tokens.json") is None
    before = len(server.asked)
    assert hub.fetch(REPO, "added_tokens.json") is None
    assert len(server.asked) == before


@pytest.mark.usefixtures("waited")
def test_a_full_disk_is_said_before_the_download(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 100})
    monkeypatch.setattr("repro.hub.shutil.disk_usage", lambda path: usage)
    with pytest.raises(OSError, match="100 bytes free, and 10,240 are to be downloaded"):
        hub.fetch(REPO, NAME)
    assert not server.ranges


@pytest.mark.usefixtures("waited")
def test_a_cache_that_is_shared_read_only_is_read(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was filled by another program; root writes everywhere, so the refusal is made here."""
    from huggingface_hub import hf_hub_download

    expected = Path(hf_hub_download(REPO.id, NAME))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    for name in ("mkdir", "write_text"):
        monkeypatch.setattr(Path, name, refuse)
    assert hub.fetch(REPO, NAME) == expected
    assert hub.fetch(REPO, "added_tokens.json") is None


def test_without_the_hub_the_newest_that_is_known_is_taken(
    server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another program left it in the cache, which pins nothing."""
    from huggingface_hub import hf_hub_download

    use_hub(monkeypatch, server.address, tmp_path)
    hf_hub_download(REPO.id, NAME)
    assert hub.pin_of(REPO) is None
    use_hub(monkeypatch, "http://127.0.0.1:9", tmp_path)
    path = hub.fetch(REPO, NAME)
    assert path is not None
    assert path.read_bytes() == CONTENT
    with pytest.raises(Exception, match="refused"):
        hub.fetch(REPO, "config.json")
