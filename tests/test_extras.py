"""Each extra alone is enough for what it is for, and none is needed to fit, predict and
audit.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FIT = """
from drsvm import Problem, WassersteinSVC, solve, worst_case_risk
X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
model = WassersteinSVC(radius=0.1).fit(X, y)
assert model.predict(X).tolist() == y and worst_case_risk(model, X, y, radius=0.1) > 0.0
"""
USES = {
    "": "",
    "plot": (
        "from drsvm import RiskCurveDisplay; RiskCurveDisplay.from_estimators(model,"
        " X, y)"
    ),
    "cli": (
        "from pathlib import Path; Path('t.csv').write_text('a,y\\n' +"
        " '1,no\\n2,yes\\n' * 20)\nfrom drsvm.cli import main; import sys; sys.argv ="
        " ['drsvm', 'fit', 't.csv', '--label', 'y']; main()"
    ),
    "excel": (
        "import openpyxl\nbook = openpyxl.Workbook()\nfor row in [('a', 'y'), *[(1, 'no'),"
        " (2, 'yes')] * 20]: book.active.append(row)\nbook.save('t.xlsx')\nfrom drsvm.cli"
        " import main; import sys; sys.argv = ['drsvm', 'fit', 't.xlsx', '--label', 'y'];"
        " main()"
    ),
    "skops": (
        "from pathlib import Path; Path('t.csv').write_text('a,y\\n' + '1,0\\n2,1\\n' *"
        " 20)\nimport pandas, skops.io\nfrom sklearn.linear_model import"
        " LogisticRegression\nX = pandas.read_csv('t.csv')\nskops.io.dump("
        "LogisticRegression().fit(X[['a']], X['y']), 'm.skops')\nfrom drsvm.cli import"
        " main; main(['audit', 'm.skops', 't.csv', '--label', 'y'])"
    ),
    "conic": (
        "assert solve(Problem(X, y, radius=0.1, fit_intercept=True), 'conic').gap <"
        " 1e-6"
    ),
    "onnx": "from drsvm.persistence.onnx_models import to_onnx; to_onnx(model)",
    "distributed": (
        "import dask.array as da; from distributed import Client\nwith"
        " Client(processes=False, dashboard_address=None):"
        " WassersteinSVC(radius=0.1).fit(da.array(X), da.array(y))"
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("extra", USES)
def test_an_extra_alone_is_enough_for_what_it_is_for(extra, tmp_path):
    python = (
        tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    )
    subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
    install = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        f"{ROOT}[{extra}]" if extra else ROOT,
    ]
    if (failed := subprocess.run(install, capture_output=True, text=True)).returncode:
        pytest.skip(f"nothing can be installed here: {failed.stderr[-300:]}")
    run = subprocess.run(
        [python, "-c", FIT + USES[extra]], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
