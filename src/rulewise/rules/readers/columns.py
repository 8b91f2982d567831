"""Which column or key holds which field: the usual names in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rulewise.errors import InputError
from rulewise.rules.exchange import METRICS
from rulewise.text import fold

__all__ = ["NAMES", "TEXT_FIELDS", "field_of", "fields_of", "normal_name"]

_USUAL = """
id: id, rule id, ruleid, no, nr, number, #, 编号, 规则编号, 序号, 规则id
text: text, rule, rule text, ruletext, rules, statement, 规则, 规则内容, 规则文本, 内容, 文本
natural: natural, nl, natural language, natural text, 自然语言, 自然语言规则
formal: formal, fol, logic, logical form, formula, 形式化, 形式化规则, 逻辑, 逻辑形式, 公式
premise: premise, premises, condition, conditions, if, when, antecedent, 前提, 条件, 如果, 前件, 情形
conclusion: conclusion, conclusions, consequence, consequent, then, result, outcome, 结论, 结果, 那么, 则, 后件, 后果
body: body
head: head
source: source, 来源, 出处
confidence: confidence, conf, 置信度
support: support, supp, positive examples, 支持度
domain: domain, 领域
language: language, lang, 语言
citation: citation, reference, legal basis, 引用, 依据, 法条
tags: tags, tag, keywords, 标签, 关键词
effective_from: effective from, valid from, in force from, start date, 生效日期, 生效, 施行日期
effective_to: effective to, valid to, valid until, in force until, end date, 失效日期, 失效, 废止日期
"""

NAMES: Mapping[str, tuple[str, ...]] = {
    **{name: (name.replace("_", " "),) for name in sorted(METRICS)},
    **{
        field: tuple(name.strip() for name in names.split(","))
        for field, _, names in (line.partition(":") for line in _USUAL.strip().splitlines())
    },
}
"""Field -> names of columns and keys that are taken for it, lower case, with spaces for underscores and hyphens."""

TEXT_FIELDS = frozenset({"text", "natural", "formal", "premise", "conclusion"})

_FIELD_BY_NAME = {name: field for field, names in NAMES.items() for name in names}


def normal_name(name: str) -> str:
    """A name as it is compared: folded, with one space for each run of spaces, underscores and hyphens."""
    return re.sub(r"[\s_\-]+", " ", fold(name)).strip().strip(":：*").strip()


def field_of(name: str) -> str:
    """The field that a column of this name holds, or "" if the name is not a usual one."""
    return _FIELD_BY_NAME.get(normal_name(name), "")


def fields_of(header: Sequence[str], columns: Mapping[str, str] | None = None) -> list[str]:
    """The field of each column; columns that hold no known field keep their own name, which makes them metadata.

    Args:
        header: Column names; a blank one becomes "column_N".
        columns: Field -> column name, given by the user, which goes before the usual names. A field that is not a known
            one is metadata under that name.

    Raises:
        InputError: If a column that the user names is not there, or two columns hold one text or have one name. Of two
            columns for another field, an id for example, the first holds it and the second is metadata.
    """
    given: dict[int, str] = {}
    exact = {name.strip(): i for i, name in reversed(list(enumerate(header)))}
    folded = {normal_name(name): i for i, name in reversed(list(enumerate(header)))}
    for field, column in (columns or {}).items():
        at = exact.get(column.strip(), folded.get(normal_name(column)))
        if at is None:
            known = ", ".join(repr(name.strip()) for name in header if name.strip()) or "none"
            raise InputError(f"no column {column!r} for {field!r}. The columns are: {known}.")
        if at in given:
            raise InputError(f"the column {column!r} is mapped to both {given[at]!r} and {field!r}.")
        given[at] = field_of(field) or field
    fields: list[str] = []
    for i, name in enumerate(header):
        known = given.get(i) or field_of(name)
        if i not in given and known in given.values():
            known = ""
        if known in fields and known not in TEXT_FIELDS:
            known = ""
        known = known or name.strip() or f"column_{i + 1}"
        if known in fields:
            first = header[fields.index(known)].strip()
            raise InputError(
                f"the columns {first!r} and {name.strip()!r} both hold {known!r}. "
                f'Say which one does, as in --map {known}="{name.strip()}", or rename one.'
            )
        fields.append(known)
    return fields
