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


@cache
def function_digest(module: str, function: str) -> str:
    """Digest of one function of a module and of all that it uses of this library, directly or not.

    A benchmark is one module: this keeps a change of its metrics from rerunning its reader. A name of another module
    stands for that whole module.
    """
    path = _module_file(module)
    named, imported = _top_level(path), _imported_names(path)
    seen: set[str] = set()
    helpers: set[str] = set()
    waiting = [function]
    while waiting:
        name = waiting.pop()
        if name in imported:
            helpers.add(imported[name])
        elif name in named and name not in seen:
            seen.add(name)
            waiting += [node.id for node in ast.walk(named[name]) if isinstance(node, ast.Name)]
    own = {name: _node_digest(named[name]) for name in sorted(seen)}
    return value_digest([own, {helper: closure_digest(helper) for helper in sorted(helpers)}])[:16]


@cache
def _imported_names(path: Path) -> dict[str, str]:
    """The names that a file takes from other modules of this library, with those modules."""
    return {
        alias.asname or alias.name: node.module
        for node in _tree(path).body
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in PACKAGES
        for alias in node.names
    }


@cache
def _top_level(path: Path) -> dict[str, ast.stmt]:
    """The definitions and assignments of a module by name."""
    found: dict[str, ast.stmt] = {}
    for node in _tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return found


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
