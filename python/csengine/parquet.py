"""Parquet to Arrow: python3 -m csengine.parquet FILE.parquet TO.arrow
or to JSON lines: python3 -m csengine.parquet FILE.parquet TO.jsonl

The engine reads Arrow and JSON lines by itself, and has this program make them of Parquet, which
pyarrow reads, or duckdb where pyarrow is not installed. JSON lines are for columns of lists and
objects. Exit code 69: neither is there; 65: the file is damaged.
"""

import json
import struct
import sys

ROWS = 65536  # of one batch


def is_data(name):
    """Whether a column is one of the table: pandas writes a nameless index as a column of this name."""
    return not name.startswith("__index_level_")


# ---- pyarrow ----


def plain(types, kind):
    """The type that a column is written as: that of the values of a dictionary, floats of decimals."""
    if types.is_dictionary(kind):
        return plain(types, kind.value_type)
    if types.is_decimal(kind) or types.is_null(kind):
        return types.pyarrow.float64()
    if str(kind) in ("string_view", "binary_view"):
        return types.pyarrow.large_string() if "string" in str(kind) else types.pyarrow.large_binary()
    return kind


def with_pyarrow(path, to):
    import pyarrow
    import pyarrow.parquet
    import pyarrow.types as types

    types.pyarrow = pyarrow
    file = pyarrow.parquet.ParquetFile(path)
    kept = [f for f in file.schema_arrow if is_data(f.name)]
    fields = [pyarrow.field(f.name, plain(types, f.type)) for f in kept]
    schema = pyarrow.schema(fields)
    with pyarrow.ipc.new_stream(to, schema) as out:
        for batch in file.iter_batches(batch_size=ROWS, columns=[f.name for f in kept]):
            read = [(batch.column(f.name), f.type) for f in fields]
            columns = [c if c.type == kind else c.cast(kind) for c, kind in read]
            out.write_batch(pyarrow.record_batch(columns, schema=schema))


# ---- duckdb, whose rows are written here ----

# Flatbuffers, from front to back: a table is a dict {slot: value}, where a value is (format, number)
# as in struct, a table, a str, a list of tables, or (format, list of tuples) for a list of structs.


def put_table(out, table):
    """Appends a table after its vtable; returns where it begins."""
    slots = max(table, default=-1) + 1
    inline, size = {}, 4
    for slot, value in sorted(table.items(), key=lambda item: -width(item[1])):
        size = (size + width(value) - 1) // width(value) * width(value)
        inline[slot] = size
        size += width(value)
    out.extend(bytes(-(len(out) + 4 + 2 * slots) % 8))
    start = len(out)
    out.extend(struct.pack("<HH", 4 + 2 * slots, size))
    out.extend(struct.pack(f"<{slots}H", *[inline.get(slot, 0) for slot in range(slots)]))
    at = len(out)
    out.extend(struct.pack("<i", at - start) + bytes(size - 4))
    for slot, value in table.items():
        if isinstance(value, tuple) and not isinstance(value[1], list):
            struct.pack_into("<" + value[0], out, at + inline[slot], value[1])
            continue
        place = at + inline[slot]
        target = put(out, value)
        struct.pack_into("<I", out, place, target - place)
    return at


def width(value):
    inline = isinstance(value, tuple) and not isinstance(value[1], list)
    return struct.calcsize(value[0]) if inline else 4


def put(out, value):
    if isinstance(value, dict):
        return put_table(out, value)
    out.extend(bytes(-(len(out) + 4) % 8))
    at = len(out)
    if isinstance(value, str):
        text = value.encode()
        out.extend(struct.pack("<I", len(text)) + text + b"\0")
    elif isinstance(value, tuple):
        out.extend(struct.pack("<I", len(value[1])))
        for entry in value[1]:
            out.extend(struct.pack("<" + value[0], *entry))
    else:
        out.extend(struct.pack("<I", len(value)) + bytes(4 * len(value)))
        for i, entry in enumerate(value):
            place = at + 4 + 4 * i
            target = put(out, entry)
            struct.pack_into("<I", out, place, target - place)
    return at


def write_message(to, kind, header, body):
    out = bytearray(4)
    root = put_table(out, {0: ("h", 4), 1: ("B", kind), 2: header, 3: ("q", len(body))})
    struct.pack_into("<I", out, 0, root)
    out.extend(bytes(-len(out) % 8))
    to.write(struct.pack("<Ii", 0xFFFFFFFF, len(out)) + out + body)


INT, FLOAT, TEXT, BOOL, LIST = 2, 3, 5, 6, 12


def field(name, kind):
    """A column of the schema; `kind` is one of kind_of."""
    letter = kind[-1]
    whole = {"q": True, "Q": False}
    if kind.startswith("["):
        return {0: name, 1: ("?", True), 2: ("B", LIST), 3: {}, 5: [field("item", kind[1:])]}
    if letter in whole:
        form = {0: ("i", 64), 1: ("?", whole[letter])}
        return {0: name, 1: ("?", True), 2: ("B", INT), 3: form, 5: []}
    if letter in "fd":
        form = {0: ("h", 1 if letter == "f" else 2)}
        return {0: name, 1: ("?", True), 2: ("B", FLOAT), 3: form, 5: []}
    return {0: name, 1: ("?", True), 2: ("B", BOOL if letter == "?" else TEXT), 3: {}, 5: []}


def kind_of(duckdb_type):
    """q, Q, f, d: numbers as in struct; ?: booleans; s: texts; [q: a list; None: not read."""
    name = str(duckdb_type).upper()
    if name.endswith("[]"):
        inner = kind_of(name[:-2])
        return "[" + inner if inner and inner in "qQfd" else None
    if name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"):
        return "q"
    if name.startswith("DECIMAL") or name == "DOUBLE":
        return "d"
    return {"UBIGINT": "Q", "FLOAT": "f", "BOOLEAN": "?", "VARCHAR": "s"}.get(name)


class Batch:
    """The blocks of the columns of some rows."""

    def __init__(self):
        self.nodes, self.blocks, self.body = [], [], bytearray()

    def block(self, data):
        self.blocks.append((len(self.body), len(data)))
        self.body.extend(data)
        self.body.extend(bytes(-len(self.body) % 8))

    def bits(self, values):
        data = bytearray((len(values) + 7) // 8)
        for i, value in enumerate(values):
            data[i // 8] |= bool(value) << i % 8
        self.block(data)

    def column(self, kind, values):
        missing = sum(value is None for value in values)
        self.nodes.append((len(values), missing))
        self.bits([value is not None for value in values])
        if kind == "?":
            self.bits(values)
        elif kind in "qQfd":
            number = float if kind in "fd" else int
            self.block(struct.pack(f"<{len(values)}{kind}", *[number(v or 0) for v in values]))
        else:
            texts = kind == "s"
            parts = [(v.encode() if texts else v) if v is not None else b"" for v in values]
            ends = [0]
            for part in parts:
                ends.append(ends[-1] + len(part))
            self.block(struct.pack(f"<{len(ends)}i", *ends))
            if texts:
                self.block(b"".join(parts))
            else:
                self.column(kind[1:], [v for part in parts for v in part])


def with_duckdb(path, to):
    import duckdb

    connection = duckdb.connect()
    relation = connection.read_parquet(path)
    kinds = [kind_of(kind) for kind in relation.types]
    names = relation.columns
    read = [i for i, kind in enumerate(kinds) if kind and is_data(names[i])]
    fields = [field(names[i], kinds[i]) for i in read]
    rows_of = connection.execute("SELECT * FROM read_parquet(?)", [path])
    with open(to, "wb") as out:
        write_message(out, 1, {0: ("h", 0), 1: fields}, b"")
        while rows := rows_of.fetchmany(ROWS):
            batch = Batch()
            for i in read:
                batch.column(kinds[i], [row[i] for row in rows])
            header = {0: ("q", len(rows)), 1: ("qq", batch.nodes), 2: ("qq", batch.blocks)}
            write_message(out, 3, header, bytes(batch.body))
        out.write(struct.pack("<Ii", 0xFFFFFFFF, 0))


# ---- JSON lines ----


def rows_of_pyarrow(path):
    import pyarrow.parquet

    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=1024):
        yield from batch.to_pylist()


def rows_of_duckdb(path):
    import duckdb

    rows = duckdb.connect().execute("SELECT * FROM read_parquet(?)", [path])
    names = [column[0] for column in rows.description]
    while some := rows.fetchmany(1024):
        yield from (dict(zip(names, row)) for row in some)


def lines_of(rows):
    def write(path, to):
        with open(to, "w", encoding="utf-8") as out:
            for row in rows(path):
                out.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")

    return write


def main(path, to, form):
    for read in with_pyarrow, with_duckdb:
        try:
            if form == "jsonl":
                read = lines_of(rows_of_pyarrow if read is with_pyarrow else rows_of_duckdb)
            read(path, to)
            return 0
        except ModuleNotFoundError:
            continue
        except Exception as failure:
            lines = str(failure).strip().splitlines() or [type(failure).__name__]
            print(lines[0], file=sys.stderr)
            return 65
    print("neither pyarrow nor duckdb is installed", file=sys.stderr)
    return 69


if __name__ == "__main__":
    form = sys.argv[-3] if sys.argv[-3] in ("arrow", "jsonl") else sys.argv[-1].rpartition(".")[2]
    sys.exit(main(*sys.argv[-2:], form))
