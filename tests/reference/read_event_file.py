"""Reads an event file of TensorBoard with nothing but the format's description: records with their
check sums (CRC-32C computed bit by bit), protocol buffers field by field. Prints one line for each
scalar: step, tag, value as the hexadecimal of its float32, wall time. Fails on anything else.

Usage: read_event_file.py FILE
"""
import struct
import sys


def crc32c(data):
    """Bit by bit over the reflected Castagnoli polynomial; independent of any table."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


# RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
assert crc32c(b"123456789") == 0xE3069283
assert crc32c(bytes(32)) == 0x8A9136AA
assert crc32c(bytes(range(32))) == 0x46DD794E


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data, killed=False):
    """killed: the last record may be cut off."""
    position = 0
    while position < len(data):
        if killed and (len(data) - position < 12 or len(data) - position < 16 +
                       struct.unpack_from("<Q", data, position)[0]):
            return
        length, check = struct.unpack_from("<QI", data, position)
        assert check == masked(data[position:position + 8]), f"length at byte {position}"
        body = data[position + 12:position + 12 + length]
        assert len(body) == length, f"the record at byte {position} is cut off"
        (check,) = struct.unpack_from("<I", data, position + 12 + length)
        assert check == masked(body), f"body at byte {position}"
        yield body
        position += 16 + length


def varint(data, position):
    number = shift = 0
    while True:
        byte = data[position]
        number |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if byte < 0x80:
            return number, position


def fields(data):
    """Field number -> values, in order; wire types 0 (varint), 1 (64 bits), 2 (bytes), 5 (32)."""
    found, position = {}, 0
    while position < len(data):
        tag, position = varint(data, position)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, position = varint(data, position)
        elif kind == 1:
            value, position = data[position:position + 8], position + 8
        elif kind == 2:
            size, position = varint(data, position)
            value, position = data[position:position + size], position + size
        elif kind == 5:
            value, position = data[position:position + 4], position + 4
        else:
            raise AssertionError(f"wire type {kind}")
        found.setdefault(number, []).append(value)
    return found


def events(path, killed=False):
    """("start", step) of a session's START, ("scalar", step, tag, bits, time_s) of each scalar."""
    with open(path, "rb") as file:
        bodies = list(records(file.read(), killed))
    first = fields(bodies[0])
    assert first[3] == [b"brain.Event:2"], first
    for body in bodies[1:]:
        event = fields(body)
        (time_s,) = struct.unpack("<d", event[1][0])
        if set(event) == {1, 2, 7}:
            assert fields(event[7][0]) == {1: [1]}, event
            yield "start", event[2][0]
            continue
        assert set(event) == {1, 2, 5}, event
        for value in fields(event[5][0])[1]:
            scalar = fields(value)
            assert set(scalar) == {1, 2}, scalar
            (bits,) = struct.unpack("<I", scalar[2][0])
            yield "scalar", event[2][0], scalar[1][0].decode(), bits, time_s


if __name__ == "__main__":
    for kind, *rest in events(sys.argv[1]):
        if kind == "scalar":
            print(rest[0], rest[1], f"{rest[2]:08x}", f"{rest[3]:.3f}")
