"""What is said about the columns of a table."""

from drsvm.datasets import read, read_like


def table(n=40):
    """Return a table with an id, a constant, gaps, a date and text that never repeats."""
    lines = [
        f"{7 * k},always,{k if k % 4 else ''},{'Rome' if k % 3 else ''},2024-01-{k % 28 + 1:02},note {k * k},{k % 2}"
        for k in range(n)
    ]
    return "customer_id,same,income,town,joined,remark,label\n" + "\n".join(lines) + "\n"


def test_what_was_done(write):
    data = read(write("data.csv", table()))
    assert data.schema.columns == ["income", "town", "joined"] and data.schema.gaps == ["income"]
    assert data.schema.id == ["customer_id", "remark"]
    left, categories, dates, filled = data.notes[1:]
    assert left.startswith("left out: customer_id (an id), same (always the same), remark (an id)")
    assert categories.startswith("categories: town (1)") and dates == "dates as days: joined."
    assert filled == "filled: income (10 of 40), town (14 of 40); numbers by their median and text as a level."


def test_levels_that_are_all_rare(write):
    rows = "".join(f"t{k % 40},{k % 7},{k % 2}\n" for k in range(120))
    data = read(write("data.csv", "town,a,label\n" + rows))
    assert data.schema.left_out == {"town": "40 levels, all of them rare"}


def test_a_column_that_says_the_same_as_the_label(write):
    rows = "".join(f"{k % 7},{'left' if k % 2 else 'here'},{'x' if k % 4 else 'z'},{k % 2}\n" for k in range(60))
    data = read(write("data.csv", "a,alive,other,label\n" + rows))
    assert data.notes[-1] == (
        "alive alone determines the label; if it is known only afterwards, leave it out: drop='alive'."
    )


def test_what_was_filled_in_another_file(write):
    schema = read(write("data.csv", table())).schema
    new = read_like(write("new.csv", "income,town,joined\n,Rome,2024-05-05\n3,,\n"), schema)
    assert new.notes == [
        "filled: income (1 of 2), town (1 of 2), joined (1 of 2); numbers by their median and text as a level."
    ]


def test_numbers_with_a_unit(write):
    lines = "".join(f"CHF {k % 60},{k % 9} kg,{k % 7},{'xy'[k % 2]}\n" for k in range(600))
    data = read(write("data.csv", f"price,size,c,label\n{lines}"))
    assert any(note.startswith("numbers with a unit: price (CHF 0); they count as text") for note in data.notes)
