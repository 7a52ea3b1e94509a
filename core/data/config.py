"""Settings that choose, read and split a data set. Imports nothing heavy."""

import csv
import dataclasses
import io
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from core.exceptions import ConfigError, try_call
from core.settings import LARGEST_SEED, check_ranges, setting

QuotingKind = Literal["", "double", "backslash", "single", "curly", "none"]
"""How fields are quoted: `"a ""b"" c"`, `"a \\"b\\" c"`, `'a'`, `“a”`; none: quotes are ordinary characters."""

READING = ("text", "label", "pair", "separator", "delimiter", "encoding", "header", "quoting", "sheet")
LONGEST = 4096  # Characters of a text setting, at most; the longest path on Linux
ONE_LABEL = "none"  # Value of `data.separator` for one label per cell, with any signs in it


@dataclass(frozen=True)
class DataConfig:
    """Settings of the data: which labelled texts to load, and how to read and split them."""

    # fmt: off
    name: str = setting("built-in",
        help="A registered name, several with + between, or the path of a file or folder; `elsewhere:NAME` is a file "
        "of the machine it came from.")
    text: str = setting("", help="Name (or 0-based number, without a header) of the text column; empty: guessed.")
    label: str = setting("",
        help="Name (or number) of the label column; `a,b,c` or `y_*`: a 0/1 column for each label; empty: guessed.")
    pair: str = setting("", "second text",
        help="Name (or number) of the column of second texts, where each row is a pair; `none`: texts are single; "
        "empty: found by names such as sentence1 and sentence2.")
    separator: str = setting("",
        help="Sign between several labels in one cell, such as `;`; `none`: each cell is one label; empty: found.")
    delimiter: str = setting("",
        help="Field delimiter of a text file; empty: found by inspection. `tab` names the tabulator, `conll` a file "
        "with a word and its tag a line.")
    encoding: str = setting("", help="Encoding of a text file; empty: found by inspection.")
    header: Literal["", "yes", "no"] = setting("",
        help="Whether the first row of a table names its columns; empty: found by inspection.")
    quoting: QuotingKind = setting("",
        help='How fields of a text file are quoted: double "a ""b""", backslash "a \\"b\\"", single or curly quotes, '
        "none: quotes are ordinary characters; empty: found by inspection.")
    sheet: str = setting("",
        help="Which table of a file with several is read: a sheet of a workbook, a key of JSON such as `train`, a file "
        "of a zip archive; empty: the first visible sheet with a table, the longest list, the file of training.")
    rename: str = setting("",
        help="Labels under other names, such as `1=negative,2=negative,3=,5=positive`: two become one class, and rows "
        "of one that gets no name are left out. A pair with a comma in it stands in double quotes.")
    order: str = setting("",
        help="Every class, the worst first, such as `negative,neutral,positive`: for colours by sign and for measures "
        "of a scale; empty: as the data set says.")
    classes: int = setting(2, help="Built-in corpus only: its one scale seen as 2, 3 or 5 classes.")
    split: str = setting("",
        help="train/validation/test shares such as 0.7/0.15/0.15: pools the labelled rows and splits them anew, "
        "stratified.")
    seed: int = setting(0, help="Seed of every split made here; independent of the training seed.",
        within=(0, LARGEST_SEED))
    limit: int = setting(0,
        help="Keep this many training rows (seeded, stratified); 0: all. Validation and test stay whole.",
        within=(0, 1_000_000_000))
    apart: str = setting("", "excluded sets",
        help="Registered data sets, with commas between, whose texts beyond train are left out of the training split.")
    add: str = setting("", "extra data",
        help="Registered data sets, with commas between, whose training texts join the training split; nothing is "
        "judged on them, but the temperature is fitted on their validation rows too.")
    add_limit: int = setting(0,
        help="Of each set in `add` at most this many training rows (seeded, stratified), and validation rows; 0: all.",
        within=(0, 1_000_000_000))
    examples: str = setting("",
        help="A kept copy of counter-examples, which join the training split alone; on Train `counter-examples`, and "
        "`sentiscope train --add counter-examples`, make one of the list as it is.")
    texts: bool = setting(True,
        help="Keep the texts and columns of the splits in the run; false: no file of it holds one, and pages read them "
        "again where the data set is.")
    folds: int = setting(0,
        help="Cross-validation: train and validation pooled and cut into so many stratified parts; 0: the splits as "
        "they are. One part is the test split, a given test split is left out.", within=(0, 1000))
    fold: int = setting(0,
        help="Which of the `folds` parts is the test split, counted from 0; the rest is train and validation.")

    split_rule: int = setting(2,
        help="How rows are cut where the data have no splits: 2: by the classes of the file, a class of three rows or "
        "more in every split; 1, of older runs: after data.rename, by the order of the classes.", within=(1, 2))
    lineage: str = setting("", "earlier data",
        help="Files of digests of the texts that the run's start and teacher learned from; such texts leave validation "
        "and test. A training fills it in.")
    # fmt: on

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigError("data.name is empty: give a registered name or a path")
        self._check_values()
        if self.folds == 1:
            raise ConfigError(f"data.folds={self.folds}: 2 or more, or 0 for none")
        if not 0 <= self.fold < max(1, self.folds):
            allowed = f"0 to {self.folds - 1}" if self.folds else "0 without data.folds"
            raise ConfigError(f"data.fold={self.fold!s:.40}: {allowed}")
        if self.split:
            self.parse_shares()
            if self.folds:
                raise ConfigError("data.folds and data.split both cut the rows: choose one")

    def _check_values(self) -> None:
        for name, text in dataclasses.asdict(self).items():
            if isinstance(text, str) and ("\0" in text or len(text) > LONGEST):
                raise ConfigError(f"data.{name}={text!r:.60}: at most {LONGEST} characters, and no NUL among them")
        if self.classes not in (2, 3, 5):
            raise ConfigError(f"data.classes={self.classes!s:.40}: 2, 3 or 5")
        check_ranges(self, "data")
        self.parse_renames()
        order = self.parse_list("order")
        repeated = [name for name in order if order.count(name) > 1]
        if repeated or len(order) == 1:
            what = f"'{repeated[0]}' is given twice" if repeated else "two classes or more, with commas between"
            raise ConfigError(f"data.order={self.order!r:.60}: {what}")

    def get_read_settings(self) -> dict[str, str]:
        """Return the settings for reading a data file, as arguments of `core.data.labeled_files`."""
        return {name: getattr(self, name) for name in READING}

    def parse_renames(self) -> dict[str, str]:
        """Parse the setting `data.rename` to label → class; rows of a label with an empty class are left out."""
        parts = [part.rpartition("=") for part in _split_list(self.rename)]
        if wrong := [last for old, _, last in parts if not old]:
            raise ConfigError(f"data.rename: write label=class and not '{wrong[0]:.60}', e.g. 1=negative,3=,5=positive")
        return {old.strip(): new.strip() for old, _, new in parts}

    def parse_list(self, name: Literal["order", "apart", "add", "lineage"]) -> tuple[str, ...]:
        """Return the class names, data sets or paths in a setting with commas between; empty if it is not given."""
        return tuple(_split_list(getattr(self, name)))

    def parse_shares(self) -> tuple[float, float, float]:
        """Return the three shares in the setting `data.split`; refuse any that are not positive numbers with sum 1."""
        parts = try_call(ValueError, (), lambda: tuple(map(float, self.split.split("/"))))
        if len(parts) != 3 or min(parts) <= 0 or not math.isclose(sum(parts), 1, abs_tol=1e-6):
            raise ConfigError(f"data.split={self.split!r:.60}: three positive shares with sum 1, such as 0.7/0.15/0.15")
        return parts[0], parts[1], parts[2]


def _split_list(text: str) -> list[str]:
    try:
        return [part.strip() for row in csv.reader([text], skipinitialspace=True) for part in row if part.strip()]
    except csv.Error as error:
        raise ConfigError(f"data.rename and data.order are one line each, with commas between: {error}") from None


def join_list(parts: Iterable[str]) -> str:
    """Join names with commas into a value of the setting `data.rename` or `data.order`."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(parts)
    return out.getvalue()
