"""A small temporal and a small static graph in which rules hold, with names that tempt a parser."""

from __future__ import annotations

from pathlib import Path

import pytest

HOST, VISIT = "Host a visit", "Make a visit, or [so] they say"


def write(folder: Path, parts: dict[str, list[str]]) -> Path:
    folder.mkdir()
    for name, facts in parts.items():
        (folder / f"{name}.tsv").write_text("".join(fact.replace("|", "\t") + "\n" for fact in facts))
    return folder


@pytest.fixture
def temporal(tmp_path: Path) -> Path:
    """Whoever is hosted makes a visit a year later; two leaders, one of them much in the news."""
    names = [f"Minister, {n} (Land [{n}])" for n in range(12)]
    train = []
    for year in (2000, 2002, 2004):
        for n, name in enumerate(names):
            train.append(f"Japan, Inc.|{HOST}|{name}|{year}")
            train.append(f"{name}|{VISIT}|Japan, Inc.|{year + 1}")
            if n < 4:
                train += [f"{name}|Consult|China|{year}", f"{name}|Praise|Peru {year}|{year}"]
    valid = [f"{name}|{VISIT}|Japan, Inc.|2006" for name in names[:8]] + [f"Japan, Inc.|{HOST}|China|2006"]
    test = [f"{name}|{VISIT}|Japan, Inc.|2008" for name in names]
    test += [f"{names[0]}|{VISIT}|China|2008", f"{names[1]}|Consult|Peru 2000|2008"]
    return write(tmp_path / "temporal", {"train": train, "valid": valid, "test": test})


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """Who is born in a town lives there; the capital's inhabitants are named by the town too."""
    train, valid, test = [], [], []
    for n in range(40):
        town = f"Town, {n % 5} (old)"
        train.append(f"p{n}|born in|{town}")
        part = train if n < 24 else valid if n < 32 else test
        part.append(f"p{n}|lives in|{town}")
        train.append(f"{town}|houses|p{n}")
    return write(tmp_path / "static", {"train": train, "valid": valid, "test": test})
