"""``drsvm export``: a saved model in a format that other programs run."""

from pathlib import Path

from drsvm.cli.options import ModelFile, output
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm export churn.drsvm --onnx churn.onnx"""


def export(
    model: ModelFile,
    screen: Screen,
    onnx: Path = output(
        "The ONNX file, for onnxruntime and others.", ..., metavar="OUT"
    ),
) -> None:
    """Export a saved model to ONNX, with all of its preparation except the reading of text.

    The ONNX model has one input per column, of shape (rows, 1): numbers as doubles, NaN
    for empty cells, dates as days since 1970, yes and no as 1 and 0; categories as
    text, "(empty)" for empty cells. Its outputs are label, decision and probabilities.
    A model of an svmlight file has one input X.
    """
    from drsvm.cli.files import check_inputs, check_outputs
    from drsvm.persistence.model_files import OpenModel, write_files
    from drsvm.tables.notes import line_about

    check_inputs(model, [])
    check_outputs([onnx], [model])
    opened = OpenModel(model)
    from drsvm.persistence.onnx_models import (
        to_onnx,
    )  # after the checks of the file: its imports take a while

    with screen.progress(f"exporting {model.name}"):
        graph = to_onnx(opened.load().model)
        write_files({onnx: graph.SerializeToString()})
    from onnx import TensorProto  # pyright: ignore[reportMissingImports]

    kinds = {TensorProto.STRING: "text"}
    inputs = {
        entry.name: kinds.get(entry.type.tensor_type.elem_type, "number")
        for entry in graph.graph.input
    }
    payload = {"command": "export", "model": model, "onnx": onnx, "inputs": inputs}
    lines = [
        f"exported to {onnx}; outputs: {', '.join(entry.name for entry in graph.graph.output)}"
    ]
    for kind, empty in (
        ("number", "doubles, NaN where empty"),
        ("text", 'texts, "(empty)" where empty'),
    ):
        lines += line_about(
            f"inputs ({empty})",
            [name for name, given in inputs.items() if given == kind],
        )
    screen.finish(payload, "\n".join(lines))
