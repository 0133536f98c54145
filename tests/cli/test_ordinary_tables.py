"""Tables as people have them: `drsvm fit` with nothing but --label succeeds, or says what to type instead.

Each table has its expected outcome next to it. What is fitted on the command line gives
the same labels in Python, on the raw data frame.
"""

import os
import shlex
from pathlib import Path

import numpy as np
import pytest

from drsvm.persistence import load_metadata, load_model

pandas = pytest.importorskip("pandas")

N = 300
RNG = np.random.default_rng(7)
CHURN = RNG.random(N) < 0.4
USAGE = RNG.normal(size=N) + 1.5 * CHURN
TENURE = RNG.integers(1, 72, size=N) - 15 * CHURN


def picked(levels, shares=None):
    return RNG.choice(np.array(levels, dtype=object), size=N, p=shares)


def with_gaps(values, share):
    return np.where(RNG.random(N) < share, None, values)


def frame(**columns):
    """Return a table of two numbers, further columns, and the label."""
    numbers = {"usage": USAGE.round(3), "tenure": TENURE}
    return pandas.DataFrame(
        {**numbers, **columns, "churn": np.where(CHURN, "Yes", "No")}
    )


# Fmt: skip
FITTED = {
    "ids": (
        frame(
            customerID=[f"{k * 7919 % 9973:05}-X" for k in range(N)],
            row=np.arange(N),
            acct_no=RNG.permutation(N),
        ),
        {
            "left_out": {"customerID": "an id", "row": "an id", "acct_no": "an id"},
            "columns": ["usage", "tenure"],
        },
    ),
    "dates": (
        frame(
            joined=[
                f"20{10 + k % 14}-{k % 12 + 1:02}-{k % 28 + 1:02}" for k in range(N)
            ],
            seen=[f"{k % 28 + 1:02}.{k % 12 + 1:02}.2024 12:30" for k in range(N)],
            unclear=[f"{k % 12 + 1:02}/{k % 11 + 1:02}/2024" for k in range(N)],
        ),
        {
            "left_out": {"unclear": "dates, as day/month or as month/day"},
            "styles": {"joined": "date", "seen": "date %d.%m.%Y %H:%M"},
        },
    ),
    "booleans as words": (
        frame(
            partner=picked(["yes", "no"]),
            paperless=picked([True, False]),
            senior=picked(["T", "F"]),
            phone=picked([0, 1]),
        ),
        {
            "styles": dict.fromkeys(
                ["partner", "paperless", "senior", "phone"], "true or false"
            ),
            "features": 6,
        },
    ),
    "categories": (
        frame(
            plan=picked(["monthly", "one year"]),
            region=picked(["north", "south", "rare"], [0.5, 0.49, 0.01]),
        ),
        {
            "styles": {"plan": "category", "region": "category"},
            "columns": ["usage", "tenure", "plan", "region"],
        },
    ),
    "5,000 levels": (
        pandas.concat(
            [
                frame(town=RNG.choice([f"town {k}" for k in range(5000)], N))
                for _ in range(20)
            ]
        ),
        {"styles": {"town": "category"}, "many_levels": True},
    ),
    "40 % gaps": (
        frame(
            income=with_gaps(RNG.normal(size=N).round(2), 0.4),
            job=with_gaps(picked(["cook", "clerk"]), 0.4),
        ),
        {"gaps": ["income"], "features": 2 + 1 + 1 + 3},
    ),
    "words for gaps": (
        frame(
            income=with_gaps(RNG.integers(1, 9, N), 0.2),
            job=with_gaps(picked(["cook", "clerk"]), 0.1),
        ).fillna("?"),
        {"gaps": ["income"], "styles": {"job": "category"}, "features": 2 + 1 + 1 + 3},
    ),
    "one level": (
        frame(country=["Norway"] * N, version=[3] * N, empty=[None] * N),
        {
            "left_out": {
                "country": "always the same",
                "version": "always the same",
                "empty": "empty",
            },
            "features": 2,
        },
    ),
    "unicode names": (
        frame(
            **{
                "größe (cm)": RNG.normal(size=N),
                "città": picked(["Forlì", "Niš", "東京"]),
                "⚡": picked([0, 5, 9]),
            }
        ),
        {"columns": ["usage", "tenure", "größe (cm)", "città", "⚡"]},
    ),
    "labels with spaces": (
        frame().assign(churn=np.where(CHURN, "has left", "still here")),
        {"classes": ["has left", "still here"]},
    ),
    "thousands separators": (
        frame(salary=[f"{value:,}" for value in RNG.integers(900, 2_000_000, N)]),
        {"styles": {"salary": "thousands separators"}},
    ),
    "the same name twice": (
        frame(other=RNG.normal(size=N).round(3)).rename(columns={"other": "usage"}),
        {"columns": ["usage", "tenure", "usage.1"]},
    ),
    "free text": (
        frame(
            remark=[
                f"called {k} times, then wrote a long letter about the bill of month {k}"
                for k in range(N)
            ]
        ),
        {
            "left_out": {
                "remark": "free text: make features of it first, such as counts of words"
            }
        },
    ),
}
"""What is fitted as it stands, and the outcome: the schema in the model file, the features, the classes."""


@pytest.mark.parametrize("name", FITTED)
def test_what_is_fitted_as_it_stands(answer_of, tmp_path, name):
    table, expected = FITTED[name]
    path = tmp_path / "people.csv"
    model = tmp_path / "people.drsvm"
    table.to_csv(path, index=False)
    answer = answer_of("fit", path, "--label", "churn", "--model", model)
    schema = load_metadata(model)["schema"]
    outcome = {
        **schema,
        "features": answer["features"],
        "classes": sorted(answer["classes"]),
    }
    assert {what: outcome[what] for what in expected} == expected
    assert answer["train"]["accuracy"] > 0.75
    _check_labels_in_python(answer_of, path, model)


def _check_labels_in_python(answer_of, path, model, **reading):
    """Check that Python predicts the labels of the command line, on the raw data frame of pandas."""
    answer = answer_of("predict", model, path)
    raw = pandas.read_csv(path, **reading)
    loaded = load_model(model)
    assert loaded.predict(raw).tolist() == answer["predictions"]["prediction"]
    shuffled = raw[raw.columns[::-1]]
    np.testing.assert_allclose(
        loaded.decision_function(shuffled), answer["predictions"]["decision"], rtol=1e-9
    )


def test_decimal_commas(drsvm_command, answer_of, tmp_path):
    path = tmp_path / "people.csv"
    model = tmp_path / "people.drsvm"
    frame(income=(1000 * RNG.random(N)).round(2)).to_csv(
        path, index=False, sep=";", decimal=","
    )
    code, _, err = drsvm_command("fit", path, "--label", "churn", "--model", model)
    assert code == 0 and "decimal commas: usage, income." in err
    raw = pandas.read_csv(path, sep=";")  # with texts such as "1,5"
    answer = answer_of("predict", model, path)
    assert (
        load_model(model).predict(raw).tolist() == answer["predictions"]["prediction"]
    )


def test_new_rows_with_another_decimal_sign(answer_of, error_of, tmp_path):
    """What fits no other sign is suggested, and all commands that take a model read it."""
    points, commas, model = (tmp_path / name for name in ("a.csv", "b.csv", "c.drsvm"))
    table = frame(income=(1000 * RNG.random(N)).round(2)).drop(columns="usage")
    table.to_csv(points, index=False)
    table.to_csv(commas, index=False, sep=";", decimal=",")
    answer_of("fit", points, "--label", "churn", "--model", model)
    expected = answer_of("predict", model, points)["predictions"]["decision"]
    error = error_of("predict", model, commas)
    assert (
        "the model needs numbers: name the decimal sign of the file (--decimal ,)."
        in error
    )
    assert "b.csv --decimal ,\n" in error
    read = answer_of("predict", model, commas, "--decimal", ",")
    assert read["predictions"]["decision"] == expected
    assert answer_of("drift", model, commas, "--decimal", ",")["moved"] < 0.5
    # The other way round, where points could separate thousands
    answer_of("fit", commas, "--label", "churn", "--model", model)
    error = error_of("predict", model, points)
    assert "the model needs numbers with decimal commas" in error
    assert "--decimal .\n" in error
    read = answer_of("predict", model, points, "--decimal", ".")
    assert read["predictions"]["decision"] == expected


def test_dots_that_separate_thousands(drsvm_command, answer_of, tmp_path):
    """They do where the decimals of another column have commas.

    A new file is read alike, even without commas.
    """
    path, model, new = (
        tmp_path / name for name in ("people.csv", "people.drsvm", "new.csv")
    )
    dotted = [f"{k}.{k:03}" if k % 2 else str(k) for k in range(100, 100 + N)]
    table = frame(sales=dotted, rate=[f"{k % 7},{k % 100:02}" for k in range(N)])
    table.drop(columns="usage").to_csv(path, index=False, sep=";")
    code, _, err = drsvm_command("fit", path, "--label", "churn", "--model", model)
    assert code == 0 and "decimal commas: sales, rate." in err
    new.write_text("tenure;sales;rate\n10;1.326;2\n10;1326;2\n")
    decisions = answer_of("predict", model, new)["predictions"]["decision"]
    assert decisions[0] == decisions[1]


def test_blanks_that_separate_thousands_say_nothing_about_commas(
    drsvm_command, tmp_path
):
    path = tmp_path / "people.csv"
    table = frame(
        km=[f"{k} {k:03}" for k in range(100, 100 + N)],
        sales=[f"{k},{k:03}" for k in range(100, 100 + N)],
    )
    table.to_csv(path, index=False)
    code, _, err = drsvm_command("fit", path, "--label", "churn")
    assert (
        code == 0
        and "thousands separators: km, sales." in err
        and "decimal commas" not in err
    )


REFUSED = {
    "mixed types": (
        frame(
            age=np.where(
                np.arange(N) % 50 == 7, "unknown", RNG.integers(18, 90, N).astype(str)
            )
        ),
        [
            "column 'age' contains the text 'unknown' (line 9), while 294 of 300 values are numbers"
        ],
        ["--missing-values", "unknown"],
    ),
    "many texts among numbers": (
        frame(size=[f"{k % 5}x" if k % 6 == 0 else str(k % 9 + 36) for k in range(N)]),
        [
            "column 'size' contains the text '0x' (line 2), while 250 of 300 values are numbers",
            "--categorical size",
        ],
        ["--numeric", "size"],
    ),
    "ambiguous commas": (
        frame(salary=[f"{k + 1},{k:03}" for k in range(N)]).drop(columns="usage"),
        [
            "column 'salary' contains '1,000' (line 2): the comma may separate thousands or decimals"
        ],
        ["--decimal", "."],
    ),
    "ambiguous dots": (
        frame(
            sales=[
                f"{k // 100 + 1}.{k:03}" if k % 2 else str(k + 100) for k in range(N)
            ]
        ).drop(columns="usage"),
        [
            "column 'sales' contains '1.001' (line 3): the dot may separate thousands or decimals"
        ],
        ["--decimal", ","],
    ),
    "infinite": (
        frame(rate=np.where(np.arange(N) == 4, np.inf, RNG.normal(size=N).round(2))),
        ["column 'rate' is infinite at line 6"],
        ["--missing-values", "inf"],
    ),
    "several at once": (
        frame(
            age=np.where(
                np.arange(N) % 50 == 7, "not given", RNG.integers(18, 90, N).astype(str)
            ),
            rate=np.where(np.arange(N) == 4, np.inf, RNG.normal(size=N).round(2)),
        ),
        [
            "2 things need a decision",
            "the text 'not given' (line 9)",
            "column 'rate' is infinite",
        ],
        ["--missing-values", "not given", "--missing-values", "inf"],
    ),
}
"""What is refused: the message, and the options of the complete command at its end."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_type(drsvm_command, answer_of, tmp_path, name):
    table, messages, options = REFUSED[name]
    path = tmp_path / "my people.csv"
    model = tmp_path / "people.drsvm"
    table.to_csv(path, index=False)
    given = ["fit", str(path), "--label", "churn", "--model", str(model)]
    code, out, err = drsvm_command(*given)
    assert code == 2 and out == "" and not model.exists()
    assert all(message in err for message in messages)
    *_, title, remedy = err.splitlines()
    assert title == "Try:" and shlex.split(remedy) == ["drsvm", *given, *options]
    code, _, err = drsvm_command(*shlex.split(remedy)[1:])
    assert code == 0, err
    # Pandas cannot know either
    dots = {"decimal": ",", "thousands": "."} if name == "ambiguous dots" else {}
    _check_labels_in_python(answer_of, path, model, **dots)


def test_misspelt_columns_are_corrected_in_the_command(drsvm_command, tmp_path):
    path = tmp_path / "people.csv"
    frame(age=RNG.integers(18, 90, N)).to_csv(path, index=False)
    given = (
        "fit",
        path,
        "--label=chrun",
        "--drop",
        "usage,tenur",
        "--increasing",
        "Age",
    )
    code, _, err = drsvm_command(*given)
    assert code == 2 and all(
        f"did you mean {name!r}" in err for name in ("churn", "tenure", "age")
    )
    remedy = shlex.split(err.splitlines()[-1])
    assert remedy[3:] == [
        "--label",
        "churn",
        "--drop",
        "usage,tenure",
        "--increasing",
        "age",
    ]
    assert drsvm_command(*remedy[1:])[0] == 0


REAL = {
    "adult": (["--label", "class"], {"columns": 14, "features": 108}),
    "titanic": (
        ["--label", "survived", "--drop", "alive"],
        {"columns": 12, "features": 29},
    ),
}


@pytest.mark.thorough
@pytest.mark.data
@pytest.mark.skipif("DRSVM_DATA" not in os.environ, reason="DRSVM_DATA is not set")
@pytest.mark.parametrize("name", REAL)
def test_real_tables(answer_of, tmp_path, name):
    from sklearn.linear_model import LogisticRegression

    options, expected = REAL[name]
    path = Path(os.environ["DRSVM_DATA"]) / f"{name}.csv.xz"
    model = tmp_path / "m.drsvm"
    answer = answer_of("fit", path, *options, "--model", model)
    schema = load_metadata(model)["schema"]
    assert {
        "columns": len(schema["columns"]),
        "features": answer["features"],
    } == expected
    _check_labels_in_python(answer_of, path, model)

    loaded = load_model(model)
    raw = pandas.read_csv(path)
    labels = raw.pop(options[1]).to_numpy()
    rows = np.random.default_rng(0).permutation(len(raw))
    train = raw.iloc[rows[len(rows) // 4 :]]
    test = raw.iloc[rows[: len(rows) // 4]]
    rival = LogisticRegression(max_iter=2000).fit(
        loaded[:-1].transform(train), labels[train.index]
    )
    best = rival.score(loaded[:-1].transform(test), labels[test.index])
    assert answer["test"]["accuracy"] > best - (0.01 if name == "adult" else 0.05)
