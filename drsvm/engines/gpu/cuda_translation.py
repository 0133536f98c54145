"""Translates the mathematics of a sample from Python to C++, for CUDA.

The source is `compiled/interior_point_sample.py`, which numba compiles for the CPU.
Its functions do arithmetic with numbers and entries of arrays, and have one loop over
the samples; the same formulas exist once only. C++ takes them almost as they are: rows
of arrays are objects with the same indices (`samples.cu`), several values that a
function returns are an object too, and every thread has its share of the loop. A
statement or expression of another kind is an error, and a test without a GPU compares
the numbers of both languages.
"""

import ast
import inspect
from itertools import count
from pathlib import Path
from typing import Any

from drsvm.compiled import interior_point_sample as interior_point

# The functions to translate: as C++ wants it, each after those that it calls.
FUNCTIONS = (
    "_slopes",
    "_ratios",
    "_direction",
    "center",
    "curvature",
    "_moderate",
    "_right_hand_side",
    "predict",
    "_corrected",
    "longest_steps",
    "_share_kept",
    "move",
    "sides",
)
OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.USub: "-",
    ast.And: "&&",
    ast.Or: "||",
    ast.Not: "!",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
}


def samples_source(loop: str) -> str:
    """Return the mathematics of a sample in C++, in the namespace `samples`.

    `loop` defines the macro FOR_EACH_SAMPLE(i, n), the loop over the samples.
    """
    tree = ast.parse(inspect.getsource(interior_point))
    functions = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)
    }
    translated = "\n\n".join(_Function(functions[name]).source for name in FUNCTIONS)
    return (
        f"{loop}\nnamespace samples {{\n{cuda_file('samples.cu')}\n{translated}\n}}\n"
    )


def cuda_file(name: str) -> str:
    """Return the text of a file beside this one."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


class _Function:
    """The translation of one function, as a template: `source`.

    Arguments of Python have no types, so each has a type that is a parameter of the
    template: the C++ compiler finds it at the call, as numba does. Methods translate a
    node of the syntax tree of Python to C++, and call each other for its parts.
    """

    def __init__(self, node: ast.FunctionDef):
        names = [argument.arg for argument in node.args.args]
        self.known = set(names)  # which need not be declared
        self.numbers = count()  # of the variables t0, t1, … (see `_unpack`)
        types = ", ".join(f"class T{k}" for k in range(len(names)))
        arguments = ", ".join(f"T{k} {name}" for k, name in enumerate(names))
        body = node.body
        if ast.get_docstring(node):
            body = body[1:]
        self.source = (
            f"template <{types}>\n__device__ auto {node.name}({arguments}) "
            f"{{\n{self._block(body)}\n}}"
        )

    def _block(self, statements: list[ast.stmt]) -> str:
        """Return statements, one below the other."""
        return "\n".join(map(self._statement, statements))

    def _statement(self, node: ast.stmt) -> str:
        """Return a statement; the comments show what it is in Python."""
        match node:
            # return a, b: an object with both values
            case ast.Return(ast.Tuple(elements)):
                return f"return Values<{len(elements)}>{{{{{self._list(elements)}}}}};"
            # return a
            case ast.Return(ast.expr() as value):
                return f"return {self._value(value)};"
            # a += b
            case ast.AugAssign(ast.Name(name), operator, value):
                return f"{name} {OPERATORS[type(operator)]}= {self._value(value)};"
            # a, b = c
            case ast.Assign([ast.Tuple(targets)], value):
                return self._unpack(targets, value)
            # a = c, or a = b = c
            case ast.Assign(targets, value):
                lines = [self._set(target, self._value(value)) for target in targets]
                return "\n".join(lines)
            # for i in range(end)
            case ast.For(ast.Name(name), ast.Call(_, [end]), body):
                return self._loop(name, end, body)
            # if …: … else: …
            case ast.If(condition, body, otherwise):
                return self._choice(condition, body, otherwise)
        raise TypeError(f"{ast.unparse(node)} cannot be translated to C++")

    def _unpack(self, targets: list[ast.expr], value: ast.expr) -> str:
        """Return assignments to several targets.

        The value is the name of a tile, whose fields are assigned, or the call of a
        function with several values.
        """
        lines = []
        if isinstance(value, ast.Name):
            # A tile is the only named tuple that functions unpack.
            parts = [f"{value.id}.{name}" for name in interior_point.Tile._fields]
        else:
            # auto t0 = f(x); auto a = t0.at[0]; auto b = t0.at[1];
            values = f"t{next(self.numbers)}"
            lines.append(f"auto {values} = {self._value(value)};")
            parts = [f"{values}.at[{k}]" for k in range(len(targets))]
        return "\n".join([*lines, *map(self._set, targets, parts)])

    def _set(self, target: Any, value: str) -> str:
        """Return an assignment, which declares a name that is new."""
        # Arrays are objects with the methods a(i), which reads, and a.set(i, value).
        if isinstance(target, ast.Subscript):
            return f"{self._value(target.value)}.set({self._index(target)}, {value});"
        # A value that is not used
        if target.id == "_":
            return ""
        if target.id in self.known:
            return f"{target.id} = {value};"
        self.known.add(target.id)
        return f"auto {target.id} = {value};"

    def _loop(self, name: str, end: ast.expr, body: list[ast.stmt]) -> str:
        """Return a loop: over a constant range or, with another end, the samples."""
        # In C++, what is declared in a block is unknown after it.
        before = set(self.known)
        self.known.add(name)
        lines = self._block(body)
        self.known = before
        if isinstance(end, ast.Constant):
            head = f"for (int {name} = 0; {name} < {end.value}; {name}++)"
        else:
            head = f"FOR_EACH_SAMPLE({name}, tile.n)"
        return f"{head} {{\n{lines}\n}}"

    def _choice(
        self, condition: ast.expr, body: list[ast.stmt], otherwise: list[ast.stmt]
    ) -> str:
        """Return a branch, whose blocks must not declare names."""
        before = set(self.known)
        yes = self._block(body)
        no = self._block(otherwise)
        if self.known != before:
            # Python would know the names after the condition, C++ would not.
            new = ", ".join(sorted(self.known - before))
            raise TypeError(f"{new} must have a value before the condition")
        return f"if ({self._value(condition)}) {{\n{yes}\n}} else {{\n{no}\n}}"

    def _value(self, node: ast.expr) -> str:
        """Return an expression, in parentheses if it has an operator."""
        value = self._value
        match node:
            case ast.Constant(number):
                return repr(number)
            case ast.Name(name):
                # A name of the module is a constant, or a function.
                constant = getattr(interior_point, name, None)
                if name not in self.known and isinstance(constant, float):
                    return repr(constant)
                return name
            case ast.Attribute(owner, name):
                return f"{value(owner)}.{name}"
            case ast.Subscript(owner):
                return f"{value(owner)}({self._index(node)})"
            case ast.Call(function, arguments):
                return f"{value(function)}({self._list(arguments)})"
            case ast.UnaryOp(operator, operand):
                return f"({OPERATORS[type(operator)]}{value(operand)})"
            case ast.BinOp(left, operator, right) | ast.Compare(
                left, [operator], [right]
            ):
                return f"({value(left)} {OPERATORS[type(operator)]} {value(right)})"
            case ast.BoolOp(operator, operands):
                between = f" {OPERATORS[type(operator)]} "
                return f"({between.join(map(value, operands))})"
            case ast.IfExp(condition, one, other):
                return f"({value(condition)} ? {value(one)} : {value(other)})"
        raise TypeError(f"{ast.unparse(node)} cannot be translated to C++")

    def _index(self, node: ast.Subscript) -> str:
        """Return the indices of an entry: one, or several of a tuple."""
        if isinstance(node.slice, ast.Tuple):
            return self._list(node.slice.elts)
        return self._value(node.slice)

    def _list(self, nodes: list[ast.expr]) -> str:
        """Return expressions with commas between them."""
        return ", ".join(map(self._value, nodes))
