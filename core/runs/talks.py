"""Talks: lists of links to pages of the dashboard, in text files next to the runs, one link a line."""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from core.atomic import convert_os_errors, write_text
from core.exceptions import InputError
from core.runs.store import make_slug

FOLDER = ".talks"  # next to the runs
MOST_TALKS, MOST_LINKS, LONGEST = 500, 100, 30_000  # talks on a server, links in a talk, characters of a link
OF_PRESENTER = ("present", "talk", "exhibit", "projector")  # of the presenter itself; not in stored links
_PAGE = re.compile("[a-z]{0,40}")


def list_talks(folder: Path) -> list[str]:
    """Return the names of the talks that are stored next to the runs, sorted."""
    return sorted(path.stem for path in (folder / FOLDER).glob("*.txt"))


def read_talk(folder: Path, name: str) -> tuple[str, ...]:
    """Read the links of a stored talk; InputError: there is no such talk."""
    path = _get_path(folder, name)
    if not path.is_file():
        known = ", ".join(list_talks(folder)[:20]) or "none yet"
        raise InputError(f"no talk {name!r:.120}; there are {known}")
    return parse_links(path.read_text(encoding="utf-8", errors="replace"))


def write_talk(folder: Path, name: str, links: Iterable[str]) -> tuple[str, ...]:
    """Store a talk, replacing one of the same name, and return its links; InputError: too many talks or links."""
    path, kept = _get_path(folder, name), parse_links("\n".join(links))
    if not path.is_file() and len(list_talks(folder)) >= MOST_TALKS:
        raise InputError(f"there are {MOST_TALKS} talks, which is the maximum; remove some")
    with convert_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "".join(f"{link}\n" for link in kept))
    return kept


def add_link(folder: Path, name: str, link: str) -> tuple[str, ...]:
    """Add a link to the end of a talk, which is created if there is none; return all links of the talk."""
    before = read_talk(folder, name) if _get_path(folder, name).is_file() else ()
    return write_talk(folder, name, [*before, link])


def remove_talk(folder: Path, name: str) -> None:
    """Delete a stored talk; InputError: there is no such talk."""
    read_talk(folder, name)
    _get_path(folder, name).unlink(missing_ok=True)


def parse_links(text: str) -> tuple[str, ...]:
    """Parse a talk's text, one link a line, without blank lines and those that begin with `#`; InputError: no link."""
    links = []
    for place, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                links.append(clean_link(line))
            except InputError as error:
                raise InputError(f"line {place}: {error}") from None
    if len(links) > MOST_LINKS:
        raise InputError(f"a talk has at most {MOST_LINKS} links, and this has {len(links)}")
    return tuple(links)


def clean_link(link: str) -> str:
    """Return a link as `page?parameters`, without server and presenter settings; InputError: it leads to no page."""
    try:
        parts = urlsplit(link.strip())
        asked = parse_qsl(parts.query, keep_blank_values=True)
        query = urlencode([pair for pair in asked if pair[0] not in OF_PRESENTER])
    except ValueError:
        raise InputError(f"{link!r:.120} is no link") from None
    page = parts.path.rstrip("/").rpartition("/")[2]
    if not _PAGE.fullmatch(page) or not (page or query):
        raise InputError(f"{link!r:.120} leads to no page of the dashboard, such as performance?run=first")
    found = f"{page}?{query}".rstrip("?")
    if (length := max(len(link), len(found))) > LONGEST:  # a letter may become nine characters
        raise InputError(f"a link has at most {LONGEST} characters, and this has {length}")
    return found


def split_link(link: str) -> tuple[str, dict[str, str | list[str]]]:
    """Split a stored link into its page and parameters; a parameter that is repeated has a list of values."""
    page, _, query = link.partition("?")
    found: dict[str, str | list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        before = found.get(name)
        found[name] = value if before is None else [*([before] if isinstance(before, str) else before), value]
    return page, found


def _get_path(folder: Path, name: str) -> Path:
    slug = make_slug(name)
    if not slug or slug != name:
        raise InputError(f"{name!r:.120} is not a name for a talk: letters, digits, dot and dash only")
    return folder / FOLDER / f"{slug}.txt"
