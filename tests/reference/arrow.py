"""Writes tests/samples/inputs/arrow.h: a table of 12 rows in the two formats of Arrow, made by
pyarrow, in two batches. Of row i: tokens are 10 i + t (lists of four), grid is [2, 3] floats of
i / 4 + half its place, small is -i, label is i % 3, flag whether i is odd, ragged a list of min(i, 4)
numbers 100 i + t, seen as many ones, the fourth a zero where i is 5, text "ab" or, where i is 4,
"abc"; word is a dictionary. A third table has rows that cannot be read: a null, a null in a list,
2^40 and 2^64 - 1.

Usage: arrow.py >tests/samples/inputs/arrow.h (package pyarrow)"""

import io

import pyarrow as pa
from bytes_as_c import literal

ROWS = range(12)

def column(values, kind):
    return pa.array(values, kind)

def table():
    grid = pa.list_(pa.list_(pa.float32(), 3), 2)
    places = [[[(3 * r + c) / 2 for c in range(3)] for r in range(2)]] * 12
    return pa.table(
        {
            "tokens": column([[10 * i + t for t in range(4)] for i in ROWS], pa.list_(pa.int64())),
            "grid": column([[[v + i / 4 for v in r] for r in places[i]] for i in ROWS], grid),
            "small": column([-i for i in ROWS], pa.int8()),
            "label": column([i % 3 for i in ROWS], pa.int64()),
            "flag": column([i % 2 == 1 for i in ROWS], pa.bool_()),
            "ragged": column(
                [[100 * i + t for t in range(min(i, 4))] for i in ROWS], pa.large_list(pa.int32())
            ),
            "seen": column(
                [[int(t < 3 or i != 5) for t in range(min(i, 4))] for i in ROWS],
                pa.list_(pa.uint8()),
            ),
            "text": column(["abc" if i == 4 else "ab" for i in ROWS], pa.string()),
            "word": column([f"w{i % 2}" for i in ROWS], pa.string()).dictionary_encode(),
        }
    )

def with_nulls():
    def but(row, other):
        return [other if i == row else i for i in ROWS]

    return pa.table(
        {
            "a": column(but(3, None), pa.int64()),
            "b": column([[i, None if i == 5 else 1] for i in ROWS], pa.list_(pa.int32())),
            "c": column(but(7, 2**40), pa.int64()),
            "d": column(but(2, 2**64 - 1), pa.uint64()),
        }
    )

def written(make, made):
    memory = io.BytesIO()
    with make(memory, made.schema) as writer:
        writer.write_table(made, max_chunksize=8)
    return memory.getvalue()

print(
    "/* Written by tests/reference/arrow.py: tables of Arrow for the contract test. */\n"
    "#ifndef CSE_TESTS_SAMPLES_INPUTS_ARROW_H\n"
    "#define CSE_TESTS_SAMPLES_INPUTS_ARROW_H\n\n/* clang-format off */"
)
print(f"static const char stream_form[] =\n    {literal(written(pa.ipc.new_stream, table()))};")
print(f"static const char file_form[] =\n    {literal(written(pa.ipc.new_file, table()))};")
print(f"static const char nulls_form[] =\n    {literal(written(pa.ipc.new_stream, with_nulls()))};")
print("/* clang-format on */\n\n#endif")
