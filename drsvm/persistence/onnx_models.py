"""Models as ONNX graphs, in double precision so that decisions are those of the model.

A graph starts behind the `TableReader`: it has one input per column of the table, numbers or texts. skl2onnx converts
most of scikit-learn's transformers; the converters here are for our classifiers, and for what skl2onnx lacks: filling
gaps in double precision, indicators of gaps, and rare levels that share a column.
"""

from typing import Any

import numpy as np
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from drsvm.datasets.preparation import TableReader
from drsvm.datasets.values import Style
from drsvm.extras import optional
from drsvm.learn.clipped_scaler import ClippedScaler, parameters_of
from drsvm.learn.probability import DECIDED, LEANING
from drsvm.persistence.checks import has_kernel, our_classes
from drsvm.persistence.onnx_kernels import kernel_values


def to_onnx(model: Any) -> Any:
    """Return a fitted model as an ONNX graph with the outputs ``label``, ``decision`` and, if any, ``probabilities``.

    Parameters
    ----------
    model : estimator of drsvm, or Pipeline that ends in one
        A pipeline saved by ``drsvm fit`` has one input per column, of shape (n_rows, 1): numbers as doubles, with NaN
        for empty cells, dates in days since 1970, yes and no as 1 and 0; categories as text, with "(empty)" for empty
        cells. Any other model has one input ``X`` of doubles.

    Returns
    -------
    onnx.ModelProto
    """
    skl2onnx = skl2onnx_or_error()
    steps = list(getattr(model, "steps", [("classifier", model)]))
    reader = steps[0][1] if isinstance(steps[0][1], TableReader) else None
    if reader is None:
        inputs = [("X", _doubles_of(int(model.n_features_in_)))]
    else:
        text, styles = _types().StringTensorType([None, 1]), reader.styles or {}
        inputs = [(name, text if styles.get(name) == Style.CATEGORY else _doubles_of(1)) for name in reader.columns]
    ours = dict.fromkeys(our_classes(), _classifier)
    others = {SimpleImputer: _imputer, MissingIndicator: _indicator, OneHotEncoder: _encoder, ClippedScaler: _scaler}
    try:
        graph = skl2onnx.convert_sklearn(
            Pipeline(steps if reader is None else steps[1:]),
            name="drsvm",
            initial_types=[(f"input{place}", kind) for place, (_, kind) in enumerate(inputs)],
            custom_conversion_functions={**ours, **others},
            custom_shape_calculators={**dict.fromkeys(ours, _keep_types), **dict.fromkeys(others, _doubles)},
            custom_parsers=dict.fromkeys(our_classes(), _classifier_outputs),
        )
    except (RuntimeError, NotImplementedError) as error:
        raise ValueError(f"the model cannot be exported to ONNX: {error}") from None
    return _with_inputs_called(graph, [name for name, _ in inputs])


def register_onnx_converters() -> None:
    """Register the converters of our estimators, so that ``skl2onnx.to_onnx`` converts pipelines that contain them."""
    skl2onnx = skl2onnx_or_error()
    skl2onnx.update_registered_converter(ClippedScaler, "DrsvmClippedScaler", _doubles, _scaler)
    for kind in our_classes():
        skl2onnx.update_registered_converter(
            kind, f"Drsvm{kind.__name__}", _keep_types, _classifier, parser=_classifier_outputs
        )


def skl2onnx_or_error() -> Any:
    """Return skl2onnx; if it is missing, the error names the package to install."""
    return optional("skl2onnx", "exporting to ONNX needs")


def _types() -> Any:
    from skl2onnx.common import data_types  # pyright: ignore[reportMissingImports]

    return data_types


def _doubles_of(width: int) -> Any:
    return _types().DoubleTensorType([None, width])


def _with_inputs_called(model: Any, names: list[str]) -> Any:
    """Give the inputs the names of the columns, which skl2onnx would change; other names must differ from them."""
    graph = model.graph
    outputs = {output.name for output in graph.output}
    columns = {f"input{place}": f"{name}_" if name in outputs else name for place, name in enumerate(names)}
    columns |= {name: name for name in outputs}

    def renamed(name: str) -> str:
        return columns.get(name, f"/drsvm/{name}") if name else name

    for part in (*graph.input, *graph.initializer, *graph.value_info):
        part.name = renamed(part.name)
    for node in graph.node:
        node.input[:] = [renamed(name) for name in node.input]
        node.output[:] = [renamed(name) for name in node.output]
    return model


def _classifier_outputs(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    types = _types()
    kind = types.Int64TensorType if model.classes_.dtype.kind in "iub" else types.StringTensorType
    operator = scope.declare_local_operator(f"Drsvm{type(model).__name__}", model)
    operator.inputs.extend(inputs)
    operator.outputs.append(scope.declare_local_variable("label", kind([None])))
    operator.outputs.append(scope.declare_local_variable("decision", _doubles_of(len(model.intercept_))))
    if hasattr(model, "predict_proba") and hasattr(model, "sigmoids_"):
        operator.outputs.append(scope.declare_local_variable("probabilities", _doubles_of(len(model.classes_))))
    return operator.outputs


def _keep_types(operator: Any) -> None:
    """Keep the types that `_classifier_outputs` has set."""


def _doubles(operator: Any) -> None:
    step = operator.raw_operator
    if hasattr(step, "categories_"):
        width = sum(_levels(step, place)[1] for place in range(len(step.categories_)))
    else:
        width = len(getattr(step, "features_", range(step.n_features_in_)))
    operator.outputs[0].type = _doubles_of(width)


class Graph:
    """Adds nodes to the graph."""

    def __init__(self, scope: Any, container: Any):
        self.scope, self.container = scope, container

    def node(self, kind: str, *inputs: str, into: str | None = None, domain: str = "", **attributes: Any) -> str:
        output = into or self.scope.get_unique_variable_name(kind.lower())
        name = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, list(inputs), [output], op_domain=domain, name=name, **attributes)
        return output

    def constant(self, values: Any) -> str:
        from onnx import helper  # pyright: ignore[reportMissingImports]

        array = np.asarray(values)
        texts = array.dtype.kind in "UO"
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(object if texts else array.dtype))
        content = [str(text).encode() for text in array.ravel()] if texts else array.ravel().tolist()
        name = self.scope.get_unique_variable_name("constant")
        self.container.add_initializer(name, kind, list(array.shape), content)
        return name

    def double(self, name: str, into: str | None = None) -> str:
        from onnx import TensorProto  # pyright: ignore[reportMissingImports]

        return self.node("Cast", name, into=into, to=TensorProto.DOUBLE)

    def joined(self, operator: Any) -> str:
        """Return the inputs of a step side by side, as doubles."""
        names = [self.double(each.full_name) for each in operator.inputs]
        return names[0] if len(names) == 1 else self.node("Concat", *names, axis=1)


def _classifier(scope: Any, operator: Any, container: Any) -> None:
    """Add w·x + b or f(x) + b, and the label by its sign or by the largest value."""
    graph, model = Graph(scope, container), operator.raw_operator
    label, decision, *chances = (each.full_name for each in operator.outputs)
    points = graph.joined(operator)
    if has_kernel(model):
        points, coef = kernel_values(graph, points, model), model.dual_coef_
    else:
        coef = np.asarray(model.coef_.todense() if hasattr(model.coef_, "todense") else model.coef_)
    product = graph.node("MatMul", points, graph.constant(coef.T))
    values = graph.node("Add", product, graph.constant(model.intercept_), into=decision)
    if len(coef) == 1:
        positive = graph.node("Greater", values, graph.constant(np.zeros(1)))
        place = graph.node("Reshape", graph.node("Cast", positive, to=7), graph.constant(np.array([-1])))
    else:
        place = graph.node("ArgMax", values, axis=1, keepdims=0)
    classes = model.classes_
    classes = classes.astype(np.int64) if classes.dtype.kind in "iub" else classes.astype(str)
    graph.node("Gather", graph.constant(classes), place, into=label, axis=0)
    for output in chances:
        (_chances_of_two if len(coef) == 1 else _chances)(graph, values, model.sigmoids_, output)


def _chances_of_two(graph: Graph, decisions: str, sigmoids: np.ndarray, output: str) -> None:
    """Add the sigmoid, kept to the side of the decision (see `drsvm.learn.probability`)."""
    [[slope, offset]] = sigmoids
    odds = graph.node("Add", graph.node("Mul", decisions, graph.constant([slope])), graph.constant([offset]))
    leaning = graph.node("Mul", decisions, graph.constant([LEANING * slope]))
    ahead = graph.node("Max", odds, graph.node("Add", leaning, graph.constant([DECIDED])))
    positive = graph.node("Greater", decisions, graph.constant(np.zeros(1)))
    odds = graph.node("Where", positive, ahead, graph.node("Min", odds, leaning))
    both = graph.node("Concat", graph.node("Neg", odds), odds, axis=1)
    graph.node("Sigmoid", both, into=output)


def _chances(graph: Graph, decisions: str, sigmoids: np.ndarray, output: str) -> None:
    """Add the normalised sigmoids of several classes, of which the predicted one has the largest."""
    slopes, offsets = (graph.constant(column) for column in sigmoids.T)
    odds = graph.node("Add", graph.node("Mul", decisions, slopes), offsets)
    # The logarithm of a sigmoid is min(z, 0) − log(1 + exp(−|z|)); onnxruntime has no Softplus of doubles.
    powers = graph.node("Exp", graph.node("Neg", graph.node("Abs", odds)))
    rest = graph.node("Log", graph.node("Add", powers, graph.constant(np.ones(1))))
    logs = graph.node("Sub", graph.node("Min", odds, graph.constant(np.zeros(1))), rest)
    predicted = graph.node("ArgMax", decisions, axis=1, keepdims=1)
    is_predicted = graph.node("Equal", predicted, graph.constant(np.arange(len(sigmoids))))
    largest = graph.node("GatherElements", logs, graph.node("ArgMax", logs, axis=1, keepdims=1), axis=1)
    ahead = graph.node("Add", largest, graph.constant([DECIDED]))
    graph.node("Softmax", graph.node("Where", is_predicted, ahead, logs), axis=1, into=output)


def _imputer(scope: Any, operator: Any, container: Any) -> None:
    graph, step = Graph(scope, container), operator.raw_operator
    fill = np.asarray(step.statistics_)
    if fill.dtype.kind not in "fiu" or step.add_indicator or not np.isfinite(fill).all():
        raise NotImplementedError("a SimpleImputer of texts, with indicators, or of columns without any value.")
    given = graph.joined(operator)
    empty, filled = graph.node("IsNaN", given), graph.constant(fill[None])
    graph.node("Where", empty, filled, given, into=operator.outputs[0].full_name)


def _scaler(scope: Any, operator: Any, container: Any) -> None:
    graph = Graph(scope, container)
    lower, upper, mean, scale = (graph.constant(values) for values in parameters_of(operator.raw_operator))
    clipped = graph.node("Min", graph.node("Max", graph.joined(operator), lower), upper)
    graph.node("Div", graph.node("Sub", clipped, mean), scale, into=operator.outputs[0].full_name)


def _indicator(scope: Any, operator: Any, container: Any) -> None:
    graph, step = Graph(scope, container), operator.raw_operator
    empty = graph.node("IsNaN", graph.joined(operator))
    chosen = graph.node("Gather", empty, graph.constant(np.asarray(step.features_, dtype=np.int64)), axis=1)
    graph.double(chosen, into=operator.outputs[0].full_name)


def _encoder(scope: Any, operator: Any, container: Any) -> None:
    """Add one block of 0/1 columns per column of texts; an unknown level is rare, or beyond the block: all zeros."""
    graph, step = Graph(scope, container), operator.raw_operator
    columns, count = [each.full_name for each in operator.inputs], len(step.categories_)
    if len(columns) != count:  # one input with all columns
        [together] = columns
        columns = [graph.node("Gather", together, graph.constant(np.array([k])), axis=1) for k in range(count)]
    blocks = []
    for place, column in enumerate(columns):
        levels, width, unknown = _levels(step, place)
        attributes = {"keys_strings": list(levels), "values_int64s": list(levels.values()), "default_int64": unknown}
        code = graph.node("LabelEncoder", column, domain="ai.onnx.ml", op_version=2, **attributes)
        flat = graph.node("Reshape", code, graph.constant(np.array([-1])))
        depth, values = graph.constant(np.array([width])), graph.constant(np.array([0, 1], dtype=np.float32))
        blocks.append(graph.double(graph.node("OneHot", flat, depth, values, axis=1)))
    graph.node("Concat", *blocks, axis=1, into=operator.outputs[0].full_name)


def _levels(encoder: Any, place: int) -> tuple[dict[str, int], int, int]:
    """Return the column of every level of an input, the number of columns, and the column of unknown levels."""
    levels = encoder.categories_[place]
    if encoder.drop is not None or not all(isinstance(level, str) for level in levels):
        raise NotImplementedError("a OneHotEncoder of numbers, or one that drops levels.")
    rare = getattr(encoder, "infrequent_categories_", [None] * (place + 1))[place]
    rare = [] if rare is None else list(rare)
    own = [level for level in levels if level not in set(rare)]
    columns = {level: number for number, level in enumerate(own)} | dict.fromkeys(rare, len(own))
    width = len(own) + bool(rare)
    return columns, width, len(own) if encoder.handle_unknown == "infrequent_if_exist" else width
