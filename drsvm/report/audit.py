"""The section for auditors: exact bounds, digests, versions and the date."""

from typing import Any

from drsvm.report.analysis import Analysis
from drsvm.report.blocks import Key, Section, Table, Text
from drsvm.report.styles import Style, number, percent
from drsvm.report.words import unit


def audit_section(analysis: Analysis, style: Style) -> Section:
    """Return what an auditor asks for."""
    flips, shifts = analysis.bounds["flipped_labels"], analysis.bounds["shifted_features"]
    side = f" Errors are those of {style.strong(analysis.positive)} against the rest." if analysis.multiclass else ""
    where = f"{len(analysis.judged.y):,} {analysis.judged.name}"
    return Section(
        "For auditors",
        [
            Text(
                f"The largest error rate on the {where} that each change can cause: exact values, not estimates. All "
                f"rows count the same, and a row on the boundary is an error.{side}"
            ),
            _bounds("labels flipped", [percent(share, 0) for share in flips["share"]], flips["error"]),
            Text(f"Shifts of the rows, on average, with {unit(analysis)}:"),
            _bounds("average shift", [number(shift, 3) for shift in shifts["shift"]], shifts["error"]),
            Table(["", ""], _identity(analysis, style), text=2),
        ],
    )


def _bounds(name: str, budgets: list[str], errors: dict[str, list[float]]) -> Table:
    rows = [[budget, *(percent(values[k], 2) for values in errors.values())] for k, budget in enumerate(budgets)]
    return Table([name, *map(Key, errors)], rows)


def _identity(analysis: Analysis, style: Style) -> list[list[str]]:
    known: dict[str, Any] = analysis.provenance
    versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items())
    file, held_out = known["data_file"], known["held_out_rows_sha256"]
    rows = {"date (UTC)": style.text(known["date"]), "versions": style.text(versions)}
    if file is not None:
        rows[f"SHA-256 of {style.text(file['name'])}"] = style.code(file["sha256"])
    rows["SHA-256 of the training rows"] = style.code(known["training_rows_sha256"])
    if held_out is not None:
        rows["SHA-256 of the held-out rows"] = style.code(held_out)
    rows["SHA-256 of the model"] = style.code(known["model_sha256"])
    return [[name, value] for name, value in rows.items()]
