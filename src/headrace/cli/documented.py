"""What stands below the fields of a class in its source: their documentation."""

from __future__ import annotations

import ast
import inspect
import textwrap


def field_docs(cls: type) -> dict[str, str]:
    """The fields of `cls` in their order, with the string below each."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(body, ast.ClassDef)
    docs: dict[str, str] = {}
    field = ""
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            field = node.target.id
            docs[field] = ""
        elif field and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docs[field] = " ".join(str(node.value.value).split())
    return docs
