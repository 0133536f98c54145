"""Values k(x, landmark) of kernels as nodes of an ONNX graph, by the formulas of `drsvm.model.kernel_functions`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from drsvm.model.kernel_functions import Laplacian, Linear, Polynomial, Rbf, dense, squared_norms


def kernel_values(graph: Any, points: str, model: Any) -> str:
    """Add the values of a model's kernel for all pairs of rows and landmarks; `graph` is one of `onnx_models`."""
    way = _WAYS.get(model.kernel) if isinstance(model.kernel, str) else None
    if way is None:
        raise NotImplementedError(f"kernel={model.kernel!r}: only {', '.join(_WAYS)} have an ONNX form.")
    costs = model._kernel().priced(np.ones((1, model.n_features_in_)))
    if (costs != 1.0).any():
        points = graph.node("Mul", points, graph.constant(costs))
    return way(graph, points, dense(model._kernel().priced(model.landmarks_)), model._function())


def _products(graph: Any, points: str, landmarks: np.ndarray) -> str:
    return graph.node("MatMul", points, graph.constant(landmarks.T))


def _linear(graph: Any, points: str, landmarks: np.ndarray, function: Linear) -> str:
    return _products(graph, points, landmarks)


def _polynomial(graph: Any, points: str, landmarks: np.ndarray, function: Polynomial) -> str:
    # Not a factor of the products: onnxruntime would fuse the two nodes, and round the factor to single precision.
    products = _products(graph, points, function.gamma * landmarks)
    shifted = graph.node("Add", products, graph.constant([function.coef0]))
    return graph.node("Pow", shifted, graph.constant([float(function.degree)]))


def _rbf(graph: Any, points: str, landmarks: np.ndarray, function: Rbf) -> str:
    twice = _products(graph, points, 2.0 * landmarks)
    squares = graph.node("ReduceSum", graph.node("Mul", points, points), graph.constant(np.array([1])), keepdims=1)
    both = graph.node("Add", squares, graph.constant(squared_norms(landmarks)))
    distances = graph.node("Max", graph.node("Sub", both, twice), graph.constant([0.0]))
    return _falling(graph, distances, function.gamma)


def _laplacian(graph: Any, points: str, landmarks: np.ndarray, function: Laplacian) -> str:
    apart = graph.node("Sub", graph.node("Unsqueeze", points, graph.constant(np.array([1]))), graph.constant(landmarks))
    sums = graph.node("ReduceSum", graph.node("Abs", apart), graph.constant(np.array([2])), keepdims=0)
    return _falling(graph, sums, function.gamma)


def _falling(graph: Any, distances: str, gamma: float) -> str:
    return graph.node("Exp", graph.node("Mul", distances, graph.constant([-gamma])))


_WAYS: dict[str, Callable[[Any, str, np.ndarray, Any], str]] = {
    "rbf": _rbf,
    "laplacian": _laplacian,
    "poly": _polynomial,
    "linear": _linear,
}
