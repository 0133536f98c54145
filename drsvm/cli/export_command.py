"""``drsvm export``: a saved model in a format that other programs run."""

from pathlib import Path
from typing import Annotated

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Screen

EXAMPLES = """drsvm export churn.drsvm --onnx churn.onnx"""

OnnxFile = Annotated[
    Path, opt.output(help="The ONNX file, for onnxruntime and others.")
]


def export(
    context: typer.Context,
    model: opt.ModelFile,
    onnx: OnnxFile,
    as_json: opt.AsJson = False,
) -> None:
    """Export a saved model to ONNX, with its preparation except the reading of text.

    The ONNX model has one input per column, of shape (rows, 1): numbers as doubles, NaN
    for empty cells, dates as days since 1970, yes and no as 1 and 0; categories as
    text, "(empty)" for empty cells. Its outputs are label, decision and probabilities.
    A model of an svmlight file has one input X.
    """
    from drsvm.cli.command_files import check_inputs, check_outputs
    from drsvm.persistence.model_files import OpenModel
    from drsvm.tables.notes import line_about
    from drsvm.utils.writing import write_files

    screen: Screen = context.obj
    check_inputs(model, [])
    check_outputs([onnx], [model])
    opened = OpenModel(model)
    # After the checks of the file: these imports take a while.
    from drsvm.persistence.onnx_models import to_onnx

    with screen.progress(f"exporting {model.name}"):
        graph = to_onnx(opened.load().model)
        write_files({onnx: graph.SerializeToString()})
    from onnx import TensorProto  # pyright: ignore[reportMissingImports]

    inputs = {}
    for entry in graph.graph.input:
        is_text = entry.type.tensor_type.elem_type == TensorProto.STRING
        inputs[entry.name] = "text" if is_text else "number"
    outputs = ", ".join(entry.name for entry in graph.graph.output)
    lines = [f"exported to {onnx}; outputs: {outputs}"]
    for kind, title in (
        ("number", "inputs (doubles, NaN where empty)"),
        ("text", 'inputs (texts, "(empty)" where empty)'),
    ):
        names = [name for name, given in inputs.items() if given == kind]
        lines += line_about(title, names)
    payload = {"command": "export", "model": model, "onnx": onnx, "inputs": inputs}
    screen.finish(payload, "\n".join(lines))
