"""Requests as rows: reading, adding and moving one along, each inside the caller's transaction.

Only names of columns and conditions from this package are ever put into a statement; every value is a parameter.
"""
# ruff: noqa: S608

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from approvals.request import Request

NAMES = tuple(field.name for field in fields(Request))
COLUMNS = ", ".join(NAMES)
# Columns that hold JSON.
DOCUMENTS = ("arguments", "preview", "answer")


def read(row: tuple[Any, ...]) -> Request:
    """The request of a row selected with COLUMNS."""
    values = dict(zip(NAMES, row, strict=True))
    for name in DOCUMENTS:
        values[name] = None if values[name] is None else json.loads(values[name])
    return Request(**values)


def one(connection: sqlite3.Connection, request_id: str) -> Request | None:
    """The request with this id."""
    row = connection.execute(f"SELECT {COLUMNS} FROM requests WHERE id = ?", (request_id,)).fetchone()
    return None if row is None else read(row)


def many(connection: sqlite3.Connection, where: str, values: Iterable[object], limit: int) -> list[Request]:
    """The requests that fulfil a condition, in the order that it names."""
    sql = f"SELECT {COLUMNS} FROM requests WHERE {where} LIMIT ?"
    return [read(row) for row in connection.execute(sql, (*values, limit))]


def add(connection: sqlite3.Connection, request: Request) -> None:
    """A new row."""
    values = [getattr(request, name) for name in NAMES]
    stored = [
        json.dumps(value) if name in DOCUMENTS and value is not None else value
        for name, value in zip(NAMES, values, strict=True)
    ]
    connection.execute(f"INSERT INTO requests ({COLUMNS}) VALUES ({', '.join('?' * len(NAMES))})", stored)


def move(connection: sqlite3.Connection, request: Request, state: str, **values: Any) -> bool:
    """Bring a request from the state it was read in to another; False when somebody else was quicker."""
    names = ["state", *values]
    stored = [json.dumps(value) if name in DOCUMENTS else value for name, value in values.items()]
    sql = f"UPDATE requests SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ? AND state = ?"
    return connection.execute(sql, (state, *stored, request.id, request.state)).rowcount == 1
