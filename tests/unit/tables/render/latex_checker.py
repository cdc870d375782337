"""A strict check that a LaTeX fragment is sound, without a TeX engine."""

import re

NAMES = """
begin end caption label centering toprule midrule bottomrule cmidrule multicolumn textbf textit underline
textsuperscript rlap par smallskip vspace setlength tabcolsep small footnotesize scriptsize raggedright
fontsize selectfont hspace linewidth resizebox rotatebox shortstack mathrm textcolor
begingroup endgroup LTcapwidth endfirsthead endhead endfoot tablename thetable
textbackslash textasciitilde textasciicircum textless textgreater textbar ldots textbullet copyright
ss ae AE oe OE o O l L i dagger ddagger mathsection Vert mathparagraph pm times div cdot wedge vee neg triangle nabla
rightarrow leftarrow uparrow downarrow leftrightarrow Rightarrow leq geq neq approx sim in infty surd circ
alpha beta gamma delta Delta lambda mu sigma tau r v u c
"""
COMMANDS = set(NAMES.split())
GREY = r"\providecommand{\textcolor}[3][]{#3}"
CONTROL = re.compile(r"\\([A-Za-z]+|[^A-Za-z])")
END_OF_ROW = re.compile(r" \\\\\*?(\[-?[\d.]+pt\])?$")
SYMBOLS = set("\\{}$&#%_,`'^~\"=.")


def check_fragment(source: str) -> None:
    """Raise AssertionError with the first thing that TeX would stumble over."""
    code = without_comments(source)
    assert code.isascii(), "not ASCII"
    assert (GREY in code) == (r"\textcolor" in code), "grey needs what stands in for a missing package"
    code = code.replace(f"{GREY}\n", "", 1)
    check_commands(code)
    check_braces(code)
    check_environments(code)
    check_math(code)
    for _, columns, body in re.findall(
        r"\\begin\{(tabular|longtable)\}\{([^\n]+)\}\n(.*?)\\end\{\1\}", code, re.DOTALL
    ):
        check_rows(len(re.sub(r"@\{\\hspace\{[\d.]+pt\}\}", "", columns)), body)


def without_comments(source: str) -> str:
    """The source without its commented lines; a comment may stand nowhere else."""
    code = "\n".join(line for line in source.splitlines() if not line.startswith("%"))
    assert not re.search(r"(?<!\\)%", code), "a comment within a line"
    return code


def check_commands(code: str) -> None:
    """Only commands of the base format and the packages that the fragments need."""
    for name in CONTROL.findall(code):
        assert name in COMMANDS or name in SYMBOLS, f"unknown command \\{name}"


def check_braces(code: str) -> None:
    """Braces open before they close, and all close."""
    depth = 0
    for sign in re.sub(r"\\[{}\\]", "", code):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0, "a brace closes that was not open"
    assert depth == 0, "a brace is left open"


def check_environments(code: str) -> None:
    """Environments end in the reverse order of their beginnings."""
    stack: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{([^}]*)\}", code):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack and stack.pop() == name, f"\\end{{{name}}} out of order"
    assert not stack, f"{stack} left open"


def check_math(code: str) -> None:
    """Dollar signs in pairs on each line, and outside them no sign that text must not hold."""
    for line in code.splitlines():
        bare = re.sub(r"\\.", "", line)
        assert bare.count("$") % 2 == 0, f"math left open: {line}"
        outside = "".join(bare.split("$")[::2])
        assert not re.search(r'[\^_#|<>"]', outside), f"special sign: {line}"


def check_rows(columns: int, body: str) -> None:
    """Each row has a cell for each column and no option after its end."""
    for line in body.strip().splitlines():
        if line.startswith((r"\toprule", r"\midrule", r"\bottomrule", r"\cmidrule", r"\caption", r"\end")):
            continue
        assert END_OF_ROW.search(line), f"no end of row: {line}"
        cells = re.split(r"(?<!\\)&", line)
        spans = [int(match) for match in re.findall(r"\\multicolumn\{(\d+)\}", line)]
        assert len(cells) - len(spans) + sum(spans) == columns, f"{len(cells)} cells: {line}"
        assert not line.lstrip().startswith(("[", "*")), f"read as an option: {line}"
