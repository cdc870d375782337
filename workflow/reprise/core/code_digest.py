"""Digests of the library's own code: a comment or a docstring changes nothing, a statement does."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from reprise.core.files import text_digest, value_digest

WORKFLOW = Path(__file__).parents[2]
PACKAGES = ("reprise", "synthetic")


def modules_digest(modules: Iterable[str]) -> str:
    """Digest of exactly these modules."""
    return value_digest({module: _statements_digest(_module_file(module)) for module in sorted(set(modules))})[:16]


@cache
def closure_digest(module: str) -> str:
    """Digest of a module and of every module of this library that it imports, directly or not."""
    return modules_digest(_closure(module))


@cache
def _closure(module: str) -> frozenset[str]:
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += _imports(_module_file(name))
    return frozenset(seen)


def _module_file(module: str) -> Path:
    path = WORKFLOW.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """Modules of this library that a file imports, wherever in it the import stands."""
    found = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in PACKAGES:
            found.append(node.module)
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in PACKAGES]
    return tuple(name for name in found if _module_file(name).is_file())


@cache
def _statements_digest(path: Path) -> str:
    return _node_digest(_tree(path))


def _node_digest(node: ast.AST) -> str:
    """Digest of the statements under a node, docstrings left out."""
    copy = ast.parse(ast.unparse(node))
    for part in ast.walk(copy):
        if isinstance(part, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(part):
            part.body = part.body[1:]
    return text_digest(ast.dump(copy))
