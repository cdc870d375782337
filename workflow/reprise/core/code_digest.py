"""Digests of this library's code: a key file changes when the code of its job does. Comments, docstrings and
imports for type checkers change nothing, a statement does."""

import ast
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from reprise.core.files import text_digest, value_digest

WORKFLOW = Path(__file__).parents[2]
PACKAGES = ("reprise", "synthetic")


class Module(NamedTuple):
    """A digest of a module's statements, and the modules of this library that it imports."""

    digest: str
    imports: tuple[str, ...]


class CodeDigests:
    """The code of a folder as it is when it is first asked for; each file is read once."""

    def __init__(self, folder: Path = WORKFLOW) -> None:
        self._folder = folder
        self._modules: dict[str, Module] = {}

    def closure(self, roots: Sequence[str], without: Sequence[str] = ()) -> str:
        """Digest of modules and of all that they import, directly or not, but for those that fit `without`."""
        seen: dict[str, str] = {}
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name not in seen and not any(fnmatchcase(name, pattern) for pattern in without):
                module = self._module(name)
                seen[name] = module.digest
                waiting += module.imports
        return value_digest(seen)[:16]

    def _module(self, name: str) -> Module:
        if name not in self._modules:
            tree = ast.parse(self._file(name).read_text(encoding="utf-8"))
            imported: list[str] = []
            _keep_what_runs(tree, imported)
            imports = tuple(found for found in imported if self._file(found).is_file())
            self._modules[name] = Module(text_digest(ast.dump(tree)), imports)
        return self._modules[name]

    def _file(self, module: str) -> Path:
        path = self._folder.joinpath(*module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _keep_what_runs(node: ast.AST, imported: list[str]) -> None:
    """Drop docstrings and imports for type checkers below a node; list what may be imported modules of this library."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        statements = getattr(node, part, None)
        if isinstance(statements, list):
            statements[:] = [statement for statement in statements if not _is_for_readers(statement)]
            for statement in statements:
                imported += [name for name in _imports(statement) if name.split(".")[0] in PACKAGES]
                _keep_what_runs(statement, imported)


def _is_for_readers(node: ast.AST) -> bool:
    """Whether a statement is a docstring, or only for type checkers."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imports(node: ast.AST) -> list[str]:
    """Names that a statement imports, any of which may be a module."""
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
