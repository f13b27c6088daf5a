"""Loads a DataFrame of pandas into a table of Tablewright.

    pip install pandas requests
    TABLEWRIGHT_TOKEN=$(npm run -s token) python examples/python/load_frame.py

No value changes on the way: whole numbers stay whole in columns with missing values (Int64), a Decimal keeps its digits, a
timestamp keeps its microseconds and its offset, and NaN, NaT and NA become null.
"""

import datetime
import decimal
import json
import os
import sys
import uuid

import pandas
import requests

DEFINITION = {
    "columns": [
        {"name": "id", "type": "bigint"},
        {"name": "amount", "type": "numeric(30,10)"},
        {"name": "ratio", "type": "double precision"},
        {"name": "quantity", "type": "bigint"},
        {"name": "at", "type": "timestamp with time zone"},
        {"name": "day", "type": "date"},
        {"name": "code", "type": "text"},
    ],
    "constraints": {"primary_key": {"columns": ["id"]}},
}


class Refused(Exception):
    """The service refused the rows. It has said why, with the row and the column of each problem."""

    def __init__(self, status, problem):
        super().__init__(f"{status} {problem.get('title', '')}: {problem.get('detail', '')}")
        self.problems = problem.get("errors", [])


def to_json_value(value):
    """Returns a value that json.dumps writes without a lost digit."""
    if isinstance(value, (dict, list)):
        return value
    if pandas.isna(value):
        return None
    if isinstance(value, pandas.Timestamp):
        if value.nanosecond:
            raise ValueError(f"{value} has nanoseconds; PostgreSQL stores microseconds. Round it first.")
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        # A JSON number would pass through a float in json.dumps. The service reads the text for a numeric column.
        return str(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if hasattr(value, "item"):
        # A number or boolean of NumPy.
        return value.item()
    return value


def to_rows(frame):
    """Yields the rows as dictionaries. Each column keeps its type: DataFrame.iterrows would turn whole numbers into floats."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise ValueError("Two columns have the same name.")
    columns = [frame.iloc[:, index] for index in range(len(names))]
    for values in zip(*columns):
        yield {name: to_json_value(value) for name, value in zip(names, values)}


def load_frame(url, token, table, frame, definition=None, **parameters):
    """Loads all rows, or none. Returns the answer of the service. Raises Refused."""
    document = {"data": list(to_rows(frame))}
    if definition is not None:
        document["table"] = definition
    answer = requests.post(
        f"{url}/api/v1/table/{requests.utils.quote(table, safe='')}/upload/json",
        params=parameters,
        data=json.dumps(document, allow_nan=False).encode(),
        headers={
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            # If the connection breaks, the same key may be sent again: the rows are loaded once.
            "Idempotency-Key": str(uuid.uuid4()),
        },
        timeout=600,
    )
    if not answer.ok:
        is_json = "json" in answer.headers.get("Content-Type", "")
        raise Refused(answer.status_code, answer.json() if is_json else {"detail": answer.text})
    return answer.json()


def example_frame():
    """Returns values that are easily lost: numbers above 2 ** 53, many digits, missing numbers, microseconds, leading zeros."""
    return pandas.DataFrame(
        {
            "id": pandas.Series([9007199254740993, 2, 3], dtype="Int64"),
            "amount": [decimal.Decimal("12345678901234567890.0123456789"), decimal.Decimal("0.10"), None],
            "ratio": [0.1, float("nan"), 1e-300],
            "quantity": pandas.Series([9223372036854775807, None, 5], dtype="Int64"),
            "at": pandas.to_datetime(
                ["2026-03-29T01:59:59.123456+01:00", None, "2026-07-01T12:00:00+01:00"], format="ISO8601"
            ),
            "day": [datetime.date(2024, 2, 29), None, datetime.date(1999, 12, 31)],
            "code": ["007", None, "a"],
        }
    )


def main():
    url = os.environ.get("TABLEWRIGHT_URL", "http://127.0.0.1:8080")
    token = os.environ["TABLEWRIGHT_TOKEN"]
    try:
        answer = load_frame(url, token, "frame", example_frame(), DEFINITION, if_exists="replace")
    except Refused as refused:
        print(refused, file=sys.stderr)
        for problem in refused.problems:
            print(f"row {problem.get('row')}, {problem.get('column')}: {problem['detail']}", file=sys.stderr)
        return 1
    print(f"{answer['load']['rows']} rows loaded into {answer['table']['name']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
