"""Models as ONNX graphs, in double precision so that decisions are those of the model.

A graph starts behind the `TableReader`: it has one input per column of the table,
numbers or texts. skl2onnx converts most of scikit-learn's transformers; the converters
here are for our classifiers, and for what skl2onnx lacks: filling gaps in double
precision, indicators of gaps, and rare levels that share a column.
"""

from collections.abc import Callable
from copy import copy
from typing import Any, TypeAlias

import numpy as np
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from drsvm.audit.model_layers import layers, threshold_around
from drsvm.defaults.probability import DECIDED, LEANING
from drsvm.estimators.clipped_scaler import ClippedScaler, parameters_of
from drsvm.persistence.checks import Model, has_kernel, our_classes
from drsvm.problem.kernel_functions import (
    Laplacian,
    Linear,
    Polynomial,
    Rbf,
    dense,
    squared_norms,
)
from drsvm.tables.preparation import TableReader
from drsvm.tables.values import Style
from drsvm.utils.lazy import optional

# What skl2onnx makes and passes to converters: models, scopes, operators, containers
Converted: TypeAlias = Any
FLAT = np.array([-1])  # the shape of a vector


def to_onnx(model: Model) -> Converted:
    """Return a fitted model as an ONNX graph with the outputs ``label``, ``decision`` and, if any, ``probabilities``.

    Parameters
    ----------
    model : estimator of drsvm, Pipeline that ends in one, or FixedThresholdClassifier or TunedThresholdClassifierCV
        A pipeline saved by ``drsvm fit`` has one input per column, of shape (n_rows,
        1): numbers as doubles, with NaN for empty cells, dates in days since 1970, yes
        and no as 1 and 0; categories as text, with "(empty)" for empty cells. Any other
        model has one input ``X`` of doubles.

    Returns
    -------
    onnx.ModelProto
    """
    skl2onnx = optional("skl2onnx", "exporting to ONNX needs")
    *outer, last = layers(model)
    classifier = copy(last)
    classifier._threshold_around = threshold_around(model)
    steps = [step for layer in outer for step in getattr(layer, "steps", [])[:-1]] + [
        ("classifier", classifier)
    ]
    if isinstance(steps[0][1], TableReader):
        reader = steps[0][1]
    else:
        reader = None
    if reader is None:
        inputs = [("X", _type_of("Double", None, int(model.n_features_in_)))]
    else:
        texts = {
            name
            for name, style in (reader.styles or {}).items()
            if style == Style.CATEGORY
        }
        inputs = [
            (name, _type_of("String" if name in texts else "Double", None, 1))
            for name in reader.columns
        ]
    ours = dict.fromkeys(our_classes(), _classifier)
    # The types that `_classifier_outputs` has set
    kept = dict.fromkeys(ours, lambda operator: None)
    others = {
        SimpleImputer: _imputer,
        MissingIndicator: _indicator,
        OneHotEncoder: _encoder,
        ClippedScaler: _scaler,
    }
    try:
        graph = skl2onnx.convert_sklearn(
            Pipeline(steps if reader is None else steps[1:]),
            name="drsvm",
            initial_types=[
                (f"input{place}", kind) for place, (_, kind) in enumerate(inputs)
            ],
            custom_conversion_functions={
                kind: _converter(add) for kind, add in (ours | others).items()
            },
            custom_shape_calculators=kept | dict.fromkeys(others, _doubles),
            custom_parsers=dict.fromkeys(our_classes(), _classifier_outputs),
        )
    except (RuntimeError, NotImplementedError) as error:
        raise ValueError(f"the model cannot be exported to ONNX: {error}") from None
    _rename_inputs(graph, [name for name, _ in inputs])
    return graph


def _type_of(kind: str, *shape: int | None):
    """Return a type such as ``DoubleTensor`` of a given shape.

    The number of rows is None.
    """
    from skl2onnx.common import data_types  # pyright: ignore[reportMissingImports]

    return getattr(data_types, f"{kind}TensorType")(list(shape))


def _rename_inputs(model: Converted, names: list[str]) -> None:
    """Give the inputs the names of the columns, which skl2onnx would change.

    Other names must differ from them.
    """
    graph = model.graph
    outputs = {output.name for output in graph.output}
    columns = {
        f"input{place}": f"{name}_" if name in outputs else name
        for place, name in enumerate(names)
    }
    columns |= {name: name for name in outputs}

    def renamed(name: str) -> str:
        return columns.get(name, f"/drsvm/{name}") if name else name

    for part in (*graph.input, *graph.initializer, *graph.value_info):
        part.name = renamed(part.name)
    for node in graph.node:
        node.input[:] = [renamed(name) for name in node.input]
        node.output[:] = [renamed(name) for name in node.output]


def _classifier_outputs(
    scope: Converted, model: Model, inputs: list[Converted], custom_parsers=None
) -> Converted:
    if model.classes_.dtype.kind in "iub":
        kind = "Int64"
    else:
        kind = "String"
    outputs = {
        "label": _type_of(kind, None),
        "decision": _type_of("Double", None, len(model.intercept_)),
    }
    if hasattr(model, "predict_proba") and hasattr(model, "sigmoids_"):
        outputs["probabilities"] = _type_of("Double", None, len(model.classes_))
    operator = scope.declare_local_operator(f"Drsvm{type(model).__name__}", model)
    operator.inputs.extend(inputs)
    operator.outputs.extend(
        scope.declare_local_variable(name, kind) for name, kind in outputs.items()
    )
    return operator.outputs


def _doubles(operator: Converted) -> None:
    step = operator.raw_operator
    if hasattr(step, "categories_"):
        width = sum(_levels(step, place)[1] for place in range(len(step.categories_)))
    else:
        width = len(getattr(step, "features_", range(step.n_features_in_)))
    operator.outputs[0].type = _type_of("Double", None, width)


class Graph:
    """Adds the nodes of one step to the graph."""

    def __init__(self, scope: Converted, operator: Converted, container: Converted):
        self.scope = scope
        self.container = container
        self.step = operator.raw_operator
        self.inputs = [each.full_name for each in operator.inputs]
        self.outputs = [each.full_name for each in operator.outputs]

    def node(
        self,
        kind: str,
        *inputs: str | np.ndarray,
        into: str | None = None,
        domain: str = "",
        **attributes,
    ) -> str:
        """Add a node that takes other nodes, by their names, and arrays.

        Return its name.
        """
        output = into or self.scope.get_unique_variable_name(kind.lower())
        name = self.scope.get_unique_operator_name(kind)
        names = [
            each if isinstance(each, str) else self._constant(each) for each in inputs
        ]
        self.container.add_node(
            kind, names, [output], op_domain=domain, name=name, **attributes
        )
        return output

    def _constant(self, array: np.ndarray) -> str:
        from onnx import helper  # pyright: ignore[reportMissingImports]

        texts = array.dtype.kind in "UO"
        kind = helper.np_dtype_to_tensor_dtype(
            np.dtype(object if texts else array.dtype)
        )
        if texts:
            content = [str(text).encode() for text in array.ravel()]
        else:
            content = array.ravel().tolist()
        name = self.scope.get_unique_variable_name("constant")
        self.container.add_initializer(name, kind, list(array.shape), content)
        return name

    def double(self, name: str, into: str | None = None) -> str:
        from onnx import TensorProto  # pyright: ignore[reportMissingImports]

        return self.node("Cast", name, into=into, to=TensorProto.DOUBLE)

    def joined(self) -> str:
        """Return the inputs of the step side by side, as doubles."""
        names = [self.double(name) for name in self.inputs]
        if len(names) == 1:
            return names[0]
        return self.node("Concat", *names, axis=1)


def _converter(
    add: Callable[[Graph], None],
) -> Callable[[Converted, Converted, Converted], None]:
    """Return a function that adds the nodes of a step, as skl2onnx calls it."""
    return lambda scope, operator, container: add(Graph(scope, operator, container))


def _classifier(graph: Graph) -> None:
    """Add w·x + b or f(x) + b, and the label by its sign or by the largest value."""
    model = graph.step
    points = graph.joined()
    label, decision, *chances = graph.outputs
    if has_kernel(model):
        points = _kernel_values(graph, points, model)
        coef = model.dual_coef_
    else:
        coef = dense(model.coef_)
    values = graph.node(
        "Add", graph.node("MatMul", points, coef.T), model.intercept_, into=decision
    )
    if len(coef) == 1:
        # Decisions and probabilities stay those of the model
        threshold = getattr(model, "_threshold_around", 0.0)
        positive = graph.node("Greater", values, np.array([threshold]))
        place = graph.node("Reshape", graph.node("Cast", positive, to=7), FLAT)
    else:
        place = graph.node("ArgMax", values, axis=1, keepdims=0)
    classes = model.classes_
    if classes.dtype.kind in "iub":
        classes = classes.astype(np.int64)
    else:
        classes = classes.astype(str)
    graph.node("Gather", classes, place, into=label, axis=0)
    for output in chances:
        _chances(graph, values, model.sigmoids_, output)


def _chances(graph: Graph, decisions: str, sigmoids: np.ndarray, output: str) -> None:
    """Add the sigmoid of two classes, or normalised ones, of which the predicted class has the largest."""
    odds = graph.node(
        "Add", graph.node("Mul", decisions, sigmoids[:, 0]), sigmoids[:, 1]
    )
    if (
        len(sigmoids) == 1
    ):  # kept to the side of the decision (see `drsvm.defaults.probability`)
        leaning = graph.node("Mul", decisions, LEANING * sigmoids[:, 0])
        ahead = graph.node("Max", odds, graph.node("Add", leaning, np.array([DECIDED])))
        positive = graph.node("Greater", decisions, np.zeros(1))
        odds = graph.node("Where", positive, ahead, graph.node("Min", odds, leaning))
        graph.node(
            "Sigmoid",
            graph.node("Concat", graph.node("Neg", odds), odds, axis=1),
            into=output,
        )
        return
    # The logarithm of a sigmoid is min(z, 0) − log(1 + exp(−|z|)); onnxruntime has no
    # Softplus of doubles.
    powers = graph.node("Exp", graph.node("Neg", graph.node("Abs", odds)))
    rest = graph.node("Log", graph.node("Add", powers, np.ones(1)))
    logs = graph.node("Sub", graph.node("Min", odds, np.zeros(1)), rest)
    predicted = graph.node("ArgMax", decisions, axis=1, keepdims=1)
    is_predicted = graph.node("Equal", predicted, np.arange(len(sigmoids)))
    largest = graph.node(
        "GatherElements", logs, graph.node("ArgMax", logs, axis=1, keepdims=1), axis=1
    )
    ahead = graph.node("Add", largest, np.array([DECIDED]))
    graph.node(
        "Softmax", graph.node("Where", is_predicted, ahead, logs), axis=1, into=output
    )


def _kernel_values(graph: Graph, points: str, model: Model) -> str:
    """Add the values k(x, z) for all pairs of rows and landmarks, by the formulas of `drsvm.problem.kernel_functions`."""
    costs = model._kernel().priced(np.ones((1, model.n_features_in_)))
    if (costs != 1.0).any():
        points = graph.node("Mul", points, costs)
    function = model._function()
    landmarks = dense(model._kernel().priced(model.landmarks_))

    def products(factor: float) -> str:
        return graph.node("MatMul", points, factor * landmarks.T)

    match function:
        case Linear():
            return products(1.0)
        case Polynomial():
            # Not a factor of the products: onnxruntime would fuse the nodes, and round
            # the factor to single precision.
            shifted = graph.node(
                "Add", products(function.gamma), np.array([function.coef0])
            )
            return graph.node("Pow", shifted, np.array([float(function.degree)]))
        case Rbf():
            squares = graph.node(
                "ReduceSum",
                graph.node("Mul", points, points),
                np.array([1]),
                keepdims=1,
            )
            both = graph.node("Add", squares, squared_norms(landmarks))
            distances = graph.node(
                "Max", graph.node("Sub", both, products(2.0)), np.zeros(1)
            )
        case Laplacian():
            columns = graph.node("Unsqueeze", points, np.array([1]))
            apart = graph.node("Abs", graph.node("Sub", columns, landmarks))
            distances = graph.node("ReduceSum", apart, np.array([2]), keepdims=0)
        case _:
            raise NotImplementedError(
                f"kernel={model.kernel!r}: only rbf, laplacian, poly, linear have an ONNX form."
            )
    return graph.node("Exp", graph.node("Mul", distances, np.array([-function.gamma])))


def _imputer(graph: Graph) -> None:
    fill = np.asarray(graph.step.statistics_)
    if (
        fill.dtype.kind not in "fiu"
        or graph.step.add_indicator
        or not np.isfinite(fill).all()
    ):
        raise NotImplementedError(
            "a SimpleImputer of texts, with indicators, or of columns without any value."
        )
    given = graph.joined()
    graph.node(
        "Where", graph.node("IsNaN", given), fill[None], given, into=graph.outputs[0]
    )


def _scaler(graph: Graph) -> None:
    lower, upper, mean, scale = parameters_of(graph.step)
    clipped = graph.node("Min", graph.node("Max", graph.joined(), lower), upper)
    graph.node("Div", graph.node("Sub", clipped, mean), scale, into=graph.outputs[0])


def _indicator(graph: Graph) -> None:
    features = np.asarray(graph.step.features_, dtype=np.int64)
    chosen = graph.node("Gather", graph.node("IsNaN", graph.joined()), features, axis=1)
    graph.double(chosen, into=graph.outputs[0])


def _encoder(graph: Graph) -> None:
    """Add one block of 0/1 columns per column of texts.

    An unknown level is rare, or beyond the block: all zeros.
    """
    step = graph.step
    columns = graph.inputs
    count = len(graph.step.categories_)
    if len(columns) != count:  # one input with all columns
        [together] = columns
        columns = [
            graph.node("Gather", together, np.array([k]), axis=1) for k in range(count)
        ]
    blocks = []
    for place, column in enumerate(columns):
        levels, width, unknown = _levels(step, place)
        attributes = {
            "keys_strings": list(levels),
            "values_int64s": list(levels.values()),
            "default_int64": unknown,
        }
        code = graph.node(
            "LabelEncoder", column, domain="ai.onnx.ml", op_version=2, **attributes
        )
        flat = graph.node("Reshape", code, FLAT)
        off_and_on = np.array([0, 1], dtype=np.float32)
        blocks.append(
            graph.double(
                graph.node("OneHot", flat, np.array([width]), off_and_on, axis=1)
            )
        )
    graph.node("Concat", *blocks, axis=1, into=graph.outputs[0])


def _levels(encoder: OneHotEncoder, place: int) -> tuple[dict[str, int], int, int]:
    """Return the column of every level of an input, the number of columns, and the column of unknown levels."""
    levels = encoder.categories_[place]
    if encoder.drop is not None or not all(isinstance(level, str) for level in levels):
        raise NotImplementedError(
            "a OneHotEncoder of numbers, or one that drops levels."
        )
    rare = getattr(encoder, "infrequent_categories_", [None] * (place + 1))[place]
    rare = [] if rare is None else list(rare)
    own = [level for level in levels if level not in set(rare)]
    columns = {level: number for number, level in enumerate(own)} | dict.fromkeys(
        rare, len(own)
    )
    width = len(own) + bool(rare)
    return (
        columns,
        width,
        len(own) if encoder.handle_unknown == "infrequent_if_exist" else width,
    )
