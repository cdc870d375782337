"""Digests of this library's code: what a key file says has changed when what a job does has. Comments, docstrings and
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
            tree = _Statements().visit(ast.parse(self._file(name).read_text(encoding="utf-8")))
            imports = tuple(found for found in _imports(tree) if self._file(found).is_file())
            self._modules[name] = Module(text_digest(ast.dump(tree)), imports)
        return self._modules[name]

    def _file(self, module: str) -> Path:
        path = self._folder.joinpath(*module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


class _Statements(ast.NodeTransformer):
    """Leaves what is run: no docstrings, and nothing that only a type checker imports."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_for_checker = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if is_for_checker else self.generic_visit(node)


def _imports(tree: ast.Module) -> list[str]:
    """Names that may be modules of this library, wherever in a file they are imported."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [name for name in found if name.split(".")[0] in PACKAGES]
