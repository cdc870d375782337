"""Digests of this library's code: a key file changes when the code of its job does. Comments, docstrings and
imports for type checkers change nothing, a statement does."""

import ast
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from reprise.core.files import file_digest, read_record, text_digest, value_digest, write_record

WORKFLOW = Path(__file__).parents[2]
PACKAGES = ("reprise", "synthetic")


class Module(NamedTuple):
    """A digest of a module's statements, and the names that it imports, some of which are modules of this library."""

    digest: str
    imports: tuple[str, ...]


class CodeDigests:
    """The code of a folder as it is when it is first asked for; each file is read once."""

    def __init__(self, folder: Path = WORKFLOW, record: Path | None = None) -> None:
        """`record` is where it is kept what each file's content was found to be, for reading Python takes long."""
        self._folder = folder
        self._record = record
        self._reader = f"{sys.version} {file_digest(Path(__file__))}"
        self._recorded: dict[str, Module] = {}
        known = read_record(record) if record is not None else None
        if known is not None and known["reader"] == self._reader:  # not by another Python, or version of this module
            found = known["contents"].items()
            self._recorded = {content: Module(digest, tuple(names)) for content, (digest, names) in found}
        self._modules: dict[str, Module] = {}
        self._contents: dict[str, Module] = {}
        self._closures: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}

    def closure(self, roots: Sequence[str], without: Sequence[str] = ()) -> str:
        """Digest of modules and of all that they import, directly or not, but for those that fit `without`."""
        asked = tuple(roots), tuple(without)
        if asked not in self._closures:
            seen: dict[str, str] = {}
            waiting = list(roots)
            while waiting:
                name = waiting.pop()
                if name not in seen and not any(fnmatchcase(name, pattern) for pattern in without):
                    module = self._module(name)
                    seen[name] = module.digest
                    waiting += module.imports
            self._closures[asked] = value_digest(seen)[:16]
        return self._closures[asked]

    def keep(self) -> None:
        if self._record is not None and self._contents != self._recorded:
            write_record(self._record, {"reader": self._reader, "contents": self._contents})
            self._recorded = dict(self._contents)

    def _module(self, name: str) -> Module:
        if name not in self._modules:
            text = self._files[name].read_bytes()
            content = sha256(text).hexdigest()
            found = self._recorded.get(content)
            if found is None:
                tree, imported = ast.parse(text), list[str]()
                _keep_what_runs(tree, imported)
                found = Module(text_digest(ast.dump(tree)), tuple(imported))
            self._contents[content] = found
            self._modules[name] = Module(found.digest, tuple(name for name in found.imports if name in self._files))
        return self._modules[name]

    @cached_property
    def _files(self) -> dict[str, Path]:
        files = list(self._folder.rglob("*.py"))
        names = [path.relative_to(self._folder).with_suffix("").parts for path in files]
        return {".".join(name).removesuffix(".__init__"): path for name, path in zip(names, files, strict=True)}


def _keep_what_runs(node: ast.AST, imported: list[str]) -> None:
    """Drop docstrings and imports for type checkers below a node; list what may be imported modules of this library."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        statements = getattr(node, part, None)
        kept: list[ast.AST] = []
        for statement in statements if isinstance(statements, list) else []:
            names: list[str] = []
            match statement:
                case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Expr(value=ast.Constant(value=str())):
                    continue
                case ast.ImportFrom(module=str(module)):
                    names = [module, *(f"{module}.{alias.name}" for alias in statement.names)]
                case ast.Import():
                    names = [alias.name for alias in statement.names]
            kept.append(statement)
            imported += [name for name in names if name.split(".")[0] in PACKAGES]
            _keep_what_runs(statement, imported)
        if isinstance(statements, list):
            statements[:] = kept
