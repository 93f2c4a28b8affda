"""Prints what the loggers write for the scalars of run/loggers/logger.h: by Python's csv module, and for
TensorBoard from the published formats of records and protocol buffers, with a bitwise CRC-32C.
Run: python3 loggers.py"""
import csv
import io
import json
import math
import struct
import zlib

SCALARS = [("loss", 1, 1700000000.25, 0.5), ('val "accuracy", %', 300, 1700000001.5, 0.1),
           ("lr/0", 70000, 1700000002.75, float("inf"))]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def record(name, step, time_s, value):
    tag = message(1, name.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value)
    event = (varint(1 << 3 | 1) + struct.pack("<d", time_s) + varint(2 << 3) + varint(step)
             + message(5, message(1, tag)))
    length = struct.pack("<Q", len(event))
    return length + masked(length) + event + masked(event)


def literal(data):
    out = ""
    for byte in data:
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
        out += chr(byte) if plain else f"\\{byte:03o}"
    return out


text = io.StringIO()
writer = csv.writer(text, lineterminator="\n")
writer.writerow(["step", "time_s", "name", "value"])
for name, step, time_s, value in SCALARS:
    writer.writerow([step, f"{time_s:.6f}", name, f"{value:.17g}"])
print(text.getvalue())
for scalar in SCALARS:
    line = literal(record(*scalar))
    print(f'"{line}"')
print(sum(len(record(*s)) for s in SCALARS), "bytes after the record of the version, which has",
      8 + 4 + 9 + 2 + len("brain.Event:2") + 4)

# JSON: Python's text of names, and as many digits as read the same number back.
for name, step, time_s, value in SCALARS:
    number = f"{value:.17g}" if math.isfinite(value) else "null"
    line = f'{{"step":{step},"time_s":{time_s:.6f},"name":{json.dumps(name)},"value":{number}}}'
    assert json.loads(line)["value"] == (value if math.isfinite(value) else None)
    print(line)


def number_field(field, number):
    return varint(field << 3) + varint(number)


def item(key, value):
    text = f"{value:.15g}" if math.isfinite(value) else json.dumps(value)
    assert json.loads(text) == value
    return message(1, message(1, key.encode()) + message(16, text.encode()))


def wandb_record(num, field, data):
    data = number_field(1, num) + message(field, data)
    return struct.pack("<IHB", zlib.crc32(b"\x01" + data), len(data), 1) + data


print("wandb, behind the records of the header and the run:")
records = b""
for num, (name, step, time_s, value) in enumerate(SCALARS, 3):
    items = (item(name, value) + item("_timestamp", time_s) + item("_runtime", time_s - SCALARS[0][2])
             + item("_step", step))
    records += wandb_record(num, 2, items + message(2, number_field(1, step)))
records += wandb_record(6, 3, b"".join(item(name, value) for name, _, _, value in SCALARS))
records += wandb_record(7, 18, b"")
print(literal(records), len(records))
