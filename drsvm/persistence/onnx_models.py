"""Models as ONNX graphs, in double precision so that decisions are those of the model.

A graph starts behind the `TableReader`: it has one input per column of the table,
numbers or texts. skl2onnx converts most of scikit-learn's transformers; the converters
here are for our classifiers, and for what skl2onnx lacks: filling gaps in double
precision, indicators of gaps, and rare levels that share a column.
"""

import math
from collections.abc import Callable
from functools import partial
from numbers import Real
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
    squared_norms,
)
from drsvm.problem.memory_rows import dense
from drsvm.utils.lazy import optional

# What skl2onnx makes and passes to its converters, without public types: models, scopes
# (which name variables), operators (a step, its inputs and outputs) and containers
# (which receive the nodes of the graph)
Converted: TypeAlias = Any
FLAT = np.array([-1])  # the shape of a vector, for the operator Reshape
INT64 = 7  # the number of this type in ONNX (TensorProto.INT64)


def to_onnx(model: Model) -> Converted:
    """Return a fitted model as an ONNX graph.

    Its outputs are ``label``, ``decision`` and, if the model has any,
    ``probabilities``.

    Parameters
    ----------
    model : estimator of drsvm, or Pipeline that ends in one
        Also in a FixedThresholdClassifier or TunedThresholdClassifierCV. A pipeline
        saved by ``drsvm fit`` has one input per column, of shape (n_rows, 1): numbers
        as doubles, with NaN for empty cells, dates in days since 1970, yes and no as 1
        and 0; categories as text, with "(empty)" for empty cells. Any other model has
        one input ``X`` of doubles.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ValueError
        If a step of the model has no ONNX form, or the graph could not be loaded.
    """
    skl2onnx = optional("skl2onnx", "exporting to ONNX needs")
    onnxruntime = optional("onnxruntime", "exporting to ONNX needs")

    # 1. A pipeline of all steps
    *outer, classifier = layers(model)
    steps = []
    for layer in outer:
        steps += getattr(layer, "steps", [])[:-1]
    steps.append(("classifier", classifier))

    # 2. The inputs, which have numbers for names until the columns' names are set
    reader = steps[0][1]
    inputs = {}
    if hasattr(reader, "text_columns"):
        # The graph starts behind the reader of a table.
        steps = steps[1:]
        for name in reader.columns:
            kind = "String" if name in reader.text_columns else "Double"
            inputs[name] = _type_of(kind, None, 1)
    else:
        inputs["X"] = _type_of("Double", None, int(model.n_features_in_))
    types = [(f"input{place}", kind) for place, kind in enumerate(inputs.values())]

    # 3. The graph
    classes = our_classes()
    # The threshold may be that of an estimator around the classifier.
    add_classifier = partial(_classifier, threshold=threshold_around(model))
    converters = dict.fromkeys(classes, _converter(add_classifier))
    shapes = dict.fromkeys(classes, _keep_output_types)
    for cls, add in TRANSFORMERS.items():
        converters[cls] = _converter(add)
        shapes[cls] = _set_output_type
    try:
        graph = skl2onnx.convert_sklearn(
            Pipeline(steps),
            name="drsvm",
            initial_types=types,
            custom_conversion_functions=converters,
            custom_shape_calculators=shapes,
            custom_parsers=dict.fromkeys(classes, _classifier_outputs),
        )
    except (RuntimeError, NotImplementedError) as error:
        raise ValueError(f"the model cannot be exported to ONNX: {error}") from None
    _rename_inputs(graph, list(inputs))
    # skl2onnx converts some steps into nodes of types that do not fit together.
    try:
        onnxruntime.InferenceSession(
            graph.SerializeToString(), providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        # onnxruntime has a class of errors for every cause.
        raise ValueError(
            "the model cannot be exported to ONNX: onnxruntime does not load what "
            f"skl2onnx makes of it ({error}). Apply the step in question, such as "
            "PolynomialFeatures, before the graph, and export the others."
        ) from None
    return graph


def _type_of(kind: str, *shape: int | None) -> Any:
    """Return a type such as ``DoubleTensor`` of a given shape.

    The number of rows is None.
    """
    from skl2onnx.common import data_types  # pyright: ignore[reportMissingImports]

    return getattr(data_types, f"{kind}TensorType")(list(shape))


def _rename_inputs(model: Converted, names: list[str]) -> None:
    """Give the inputs the names of the columns, which skl2onnx would change.

    Other variables get names that no column should have.
    """
    graph = model.graph
    # The name of a variable that is optional and absent is empty.
    new_names = {"": ""}
    outputs = [output.name for output in graph.output]
    for name in outputs:
        new_names[name] = name
    for place, name in enumerate(names):
        new_names[f"input{place}"] = f"{name}_" if name in outputs else name

    def renamed(name: str) -> str:
        return new_names.get(name, f"/drsvm/{name}")

    for part in (*graph.input, *graph.initializer, *graph.value_info):
        part.name = renamed(part.name)
    for node in graph.node:
        node.input[:] = map(renamed, node.input)
        node.output[:] = map(renamed, node.output)


def _type_of_labels(model: Model) -> type:
    """Return the type of the labels in ONNX: integers, or text for all others."""
    if model.classes_.dtype.kind in "iub":
        return np.int64
    return str


def _classifier_outputs(
    scope: Converted, model: Model, inputs: list[Converted], custom_parsers=None
) -> Converted:
    """Declare the outputs of a classifier, as skl2onnx asks for them."""
    operator = scope.declare_local_operator(f"Drsvm{type(model).__name__}", model)
    operator.inputs.extend(inputs)
    kind = "String" if _type_of_labels(model) is str else "Int64"
    outputs = {
        "label": _type_of(kind, None),
        "decision": _type_of("Double", None, len(model.intercept_)),
    }
    if hasattr(model, "predict_proba") and hasattr(model, "sigmoids_"):
        outputs["probabilities"] = _type_of("Double", None, len(model.classes_))
    for name, shape in outputs.items():
        operator.outputs.append(scope.declare_local_variable(name, shape))
    return operator.outputs


def _set_output_type(operator: Converted) -> None:
    """Set the type of the output of a transformer: doubles, with its width."""
    step = operator.raw_operator
    width = step.n_features_in_
    if hasattr(step, "categories_"):
        width = 0
        for place in range(len(step.categories_)):
            width += _codes_of_levels(step, place)[1]
    elif hasattr(step, "features_"):
        width = len(step.features_)
    operator.outputs[0].type = _type_of("Double", None, width)


def _keep_output_types(operator: Converted) -> None:
    """Keep the types that `_classifier_outputs` has set."""


class Graph:
    """Adds the nodes of one step to the graph.

    Parameters
    ----------
    scope, operator, container
        What skl2onnx passes to the converter of a step (see `Converted`).

    Attributes
    ----------
    step : transformer or classifier
        The fitted step.
    inputs, outputs : list of str
        The names of its inputs and outputs.
    """

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
        **attributes: Any,
    ) -> str:
        """Add a node, and return the name of its output.

        Parameters
        ----------
        kind : str
            The operator of ONNX.
        *inputs : str or array
            Outputs of other nodes, by name, and constants.
        into : str, optional
            The name of the output; by default a new one.
        domain : str
            The set of operators to which `kind` belongs; by default that of ONNX.
        **attributes
            Those of the operator.
        """
        output = into or self.scope.get_unique_variable_name(kind.lower())
        self.container.add_node(
            kind,
            list(map(self._name_of, inputs)),
            [output],
            op_domain=domain,
            name=self.scope.get_unique_operator_name(kind),
            **attributes,
        )
        return output

    def _name_of(self, value: str | np.ndarray) -> str:
        """Return the name of a node, or of a new constant for an array."""
        if isinstance(value, str):
            return value
        from onnx import helper  # pyright: ignore[reportMissingImports]

        dtype = value.dtype
        content = value.ravel().tolist()
        if dtype.kind in "UO":
            dtype = np.dtype(object)
            content = [str(text).encode() for text in content]
        kind = helper.np_dtype_to_tensor_dtype(dtype)
        name = self.scope.get_unique_variable_name("constant")
        self.container.add_initializer(name, kind, list(value.shape), content)
        return name

    def double(self, name: str, into: str | None = None) -> str:
        """Add a conversion to double precision."""
        from onnx import TensorProto  # pyright: ignore[reportMissingImports]

        return self.node("Cast", name, into=into, to=TensorProto.DOUBLE)

    def joined(self) -> str:
        """Return the inputs of the step side by side, as doubles."""
        names = list(map(self.double, self.inputs))
        if len(names) == 1:
            return names[0]
        return self.node("Concat", *names, axis=1)


def _converter(
    add: Callable[[Graph], None],
) -> Callable[[Converted, Converted, Converted], None]:
    """Return a function that adds the nodes of a step, as skl2onnx calls it."""

    def convert(scope: Converted, operator: Converted, container: Converted) -> None:
        add(Graph(scope, operator, container))

    return convert


def _classifier(graph: Graph, threshold: float) -> None:
    """Add w·x + b or f(x) + b, and the label by the threshold or the largest value."""
    model = graph.step
    points = graph.joined()
    # The third output, probabilities, may be absent.
    label, decision, *probabilities = graph.outputs
    if has_kernel(model):
        points = _kernel_values(graph, points, model)
        coef = model.dual_coef_
    else:
        coef = dense(model.coef_)
    products = graph.node("MatMul", points, coef.T)
    values = graph.node("Add", products, model.intercept_, into=decision)
    if len(coef) == 1:
        # Decisions and probabilities stay those of the model.
        positive = graph.node("Greater", values, np.array([threshold]))
        place = graph.node("Reshape", graph.node("Cast", positive, to=INT64), FLAT)
    else:
        place = graph.node("ArgMax", values, axis=1, keepdims=0)
    labels = model.classes_.astype(_type_of_labels(model))
    graph.node("Gather", labels, place, into=label, axis=0)
    for output in probabilities:
        _probabilities(graph, values, model.sigmoids_, output)


def _probabilities(
    graph: Graph, decisions: str, sigmoids: np.ndarray, output: str
) -> None:
    """Add the sigmoid of two classes, or normalised ones of several.

    The formulas are those of `drsvm.defaults.probability`.
    """
    scaled = graph.node("Mul", decisions, sigmoids[:, 0])
    odds = graph.node("Add", scaled, sigmoids[:, 1])
    if len(sigmoids) == 1:
        # The log-odds are kept to the side of the decision: the predicted class is the
        # most probable one.
        leaning = graph.node("Mul", decisions, LEANING * sigmoids[:, 0])
        at_least = graph.node("Add", leaning, np.array([DECIDED]))
        ahead = graph.node("Max", odds, at_least)
        behind = graph.node("Min", odds, leaning)
        positive = graph.node("Greater", decisions, np.zeros(1))
        odds = graph.node("Where", positive, ahead, behind)
        both = graph.node("Concat", graph.node("Neg", odds), odds, axis=1)
        graph.node("Sigmoid", both, into=output)
        return
    # The logarithm of a sigmoid is min(z, 0) − log(1 + exp(−|z|)); onnxruntime has no
    # Softplus of doubles.
    powers = graph.node("Exp", graph.node("Neg", graph.node("Abs", odds)))
    rest = graph.node("Log", graph.node("Add", powers, np.ones(1)))
    logs = graph.node("Sub", graph.node("Min", odds, np.zeros(1)), rest)
    # The predicted class gets more than the largest of them.
    best = graph.node("ArgMax", logs, axis=1, keepdims=1)
    largest = graph.node("GatherElements", logs, best, axis=1)
    ahead = graph.node("Add", largest, np.array([DECIDED]))
    predicted = graph.node("ArgMax", decisions, axis=1, keepdims=1)
    is_predicted = graph.node("Equal", predicted, np.arange(len(sigmoids)))
    logs = graph.node("Where", is_predicted, ahead, logs)
    graph.node("Softmax", logs, axis=1, into=output)


def _kernel_values(graph: Graph, points: str, model: Model) -> str:
    """Add the values k(x, z) for all pairs of rows and landmarks.

    The formulas are those of `drsvm.problem.kernel_functions`.
    """
    kernel = model._kernel()
    # Costs of the features are factors of the columns.
    costs = kernel.scaled(np.ones((1, model.n_features_in_)))
    if (costs != 1.0).any():
        points = graph.node("Mul", points, costs)
    landmarks = dense(kernel.scaled(model.landmarks_))
    function = model._function()
    match function:
        case Linear():
            return graph.node("MatMul", points, landmarks.T)
        case Polynomial():
            # The factor is not one of the nodes: onnxruntime would fuse them, and round
            # it to single precision.
            products = graph.node("MatMul", points, function.gamma * landmarks.T)
            shifted = graph.node("Add", products, np.array([function.coef0]))
            return graph.node("Pow", shifted, np.array([float(function.degree)]))
        case Rbf():
            # ‖x − z‖² = ‖x‖² + ‖z‖² − 2 x·z
            products = graph.node("MatMul", points, 2.0 * landmarks.T)
            squares = graph.node("Mul", points, points)
            norms = graph.node("ReduceSum", squares, np.array([1]), keepdims=1)
            both = graph.node("Add", norms, squared_norms(landmarks))
            distances = graph.node("Sub", both, products)
            # By rounding, a distance of 0 may be negative.
            distances = graph.node("Max", distances, np.zeros(1))
        case Laplacian():
            # Σ_j |x_j − z_j|, for all pairs at once
            columns = graph.node("Unsqueeze", points, np.array([1]))
            apart = graph.node("Abs", graph.node("Sub", columns, landmarks))
            distances = graph.node("ReduceSum", apart, np.array([2]), keepdims=0)
        case _:
            raise NotImplementedError(
                f"kernel={model.kernel!r}: only rbf, laplacian, poly, linear have an "
                "ONNX form."
            )
    return graph.node("Exp", graph.node("Mul", distances, np.array([-function.gamma])))


def _imputer(graph: Graph) -> None:
    """Add the filling of gaps, in double precision."""
    fill = np.asarray(graph.step.statistics_)
    is_numeric = fill.dtype.kind in "fiu" and np.isfinite(fill).all()
    if not is_numeric or graph.step.add_indicator:
        raise NotImplementedError(
            "a SimpleImputer of texts, with indicators, or of columns without any "
            "value."
        )
    given = graph.joined()
    is_gap = _gaps(graph, given)
    graph.node("Where", is_gap, fill[None], given, into=graph.outputs[0])


def _gaps(graph: Graph, cells: str) -> str:
    """Add which cells are gaps: NaN, or another number that stands for it."""
    missing = graph.step.missing_values
    if isinstance(missing, Real) and not math.isnan(missing):
        return graph.node("Equal", cells, np.array([float(missing)]))
    return graph.node("IsNaN", cells)


def _scaler(graph: Graph) -> None:
    """Add a clipped scaler: (min(max(x, lower), upper) − mean) / scale."""
    lower, upper, mean, scale = parameters_of(graph.step)
    clipped = graph.node("Min", graph.node("Max", graph.joined(), lower), upper)
    graph.node("Div", graph.node("Sub", clipped, mean), scale, into=graph.outputs[0])


def _indicator(graph: Graph) -> None:
    """Add 1 for a gap and 0 for a number."""
    features = np.asarray(graph.step.features_, dtype=np.int64)
    is_gap = _gaps(graph, graph.joined())
    chosen = graph.node("Gather", is_gap, features, axis=1)
    graph.double(chosen, into=graph.outputs[0])


def _encoder(graph: Graph) -> None:
    """Add one block of 0/1 columns per column of texts.

    An unknown level is rare, or beyond the block: all zeros.
    """
    encoder = graph.step
    columns = graph.inputs
    if len(columns) < encoder.n_features_in_:
        # There is one input with all columns.
        together = columns[0]
        columns = []
        for place in range(encoder.n_features_in_):
            column = graph.node("Gather", together, np.array([place]), axis=1)
            columns.append(column)
    off_and_on = np.array([0, 1], dtype=np.float32)
    blocks = []
    for place, column in enumerate(columns):
        levels, width, unknown = _codes_of_levels(encoder, place)
        code = graph.node(
            "LabelEncoder",
            column,
            domain="ai.onnx.ml",
            op_version=2,
            keys_strings=list(levels),
            values_int64s=list(levels.values()),
            default_int64=unknown,
        )
        flat = graph.node("Reshape", code, FLAT)
        block = graph.node("OneHot", flat, np.array([width]), off_and_on, axis=1)
        blocks.append(graph.double(block))
    graph.node("Concat", *blocks, axis=1, into=graph.outputs[0])


def _codes_of_levels(
    encoder: OneHotEncoder, place: int
) -> tuple[dict[str, int], int, int]:
    """Return which column of its block each level of an input has.

    Parameters
    ----------
    encoder : OneHotEncoder
        The fitted encoder.
    place : int
        The position of the input.

    Returns
    -------
    codes : dict
        The column of each level.
    width : int
        The number of columns.
    unknown : int
        The column of an unknown level; if that is `width`, it has none.
    """
    levels = encoder.categories_[place].tolist()
    if encoder.drop is not None or not all(isinstance(level, str) for level in levels):
        raise NotImplementedError(
            "a OneHotEncoder of numbers, or one that drops levels."
        )
    # Rare levels share a column, the last one.
    rare = set()
    if hasattr(encoder, "infrequent_categories_"):
        found = encoder.infrequent_categories_[place]
        if found is not None:
            rare.update(found)
    codes = {}
    for level in levels:
        if level not in rare:
            codes[level] = len(codes)
    shared = len(codes)
    codes |= dict.fromkeys(rare, shared)
    width = shared + 1 if rare else shared
    # No column has the place behind the last one.
    unknown = width
    if encoder.handle_unknown == "infrequent_if_exist":
        unknown = shared
    return codes, width, unknown


# What skl2onnx lacks, or has in single precision only
TRANSFORMERS = {
    SimpleImputer: _imputer,
    MissingIndicator: _indicator,
    OneHotEncoder: _encoder,
    ClippedScaler: _scaler,
}
