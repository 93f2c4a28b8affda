"""Blocks of the packed types of GGUF, made of whole numbers that are put at their places bit by bit, and the values
that they stand for, one operation of float32 after the other. No library takes part.

Usage: packed.py >packed.h"""
import random
import struct


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def half(value):
    """The bytes of the nearest float16, and its value."""
    raw = struct.pack("<e", value)
    return raw, struct.unpack("<e", raw)[0]


class Bits:
    """Bytes whose bits are set one by one."""

    def __init__(self, size):
        self.bytes = bytearray(size)

    def put(self, byte, shift, number, width):
        for bit in range(width):
            place = shift + bit
            self.bytes[byte + place // 8] |= (number >> bit & 1) << place % 8


def numbers(rng, count, bits):
    return [rng.randrange(1 << bits) for _ in range(count)]


def of_32(rng, bits, has_minimum):
    (raw_d, d), (raw_m, m) = half(rng.uniform(-2, 2)), half(rng.uniform(-3, 3))
    q = numbers(rng, 32, bits)
    nibbles, fifths = Bits(16), Bits(4)
    for j, number in enumerate(q):
        nibbles.put(j % 16, 4 * (j // 16), number & 15, 4)
        fifths.put(0, j, number >> 4, 1)
    raw = raw_d + (raw_m if has_minimum else b"") + (bytes(fifths.bytes) if bits == 5 else b"")
    values = [single(single(d * n) + m) if has_minimum else single(d * (n - (1 << bits - 1))) for n in q]
    return raw + bytes(nibbles.bytes), values


def q8_0(rng):
    raw_d, d = half(rng.uniform(-2, 2))
    q = [rng.randrange(-128, 128) for _ in range(32)]
    return raw_d + struct.pack("32b", *q), [single(d * n) for n in q]


def two_bits(q):
    """Element i of 128 is in byte i % 32, at twice i / 32."""
    out = Bits(64)
    for i, number in enumerate(q):
        out.put(i // 128 * 32 + i % 32, 2 * (i % 128 // 32), number & 3, 2)
    return bytes(out.bytes)


def four_bits(q):
    """Element i of 64 is in byte i % 32, the first 32 in the low half."""
    out = Bits(128)
    for i, number in enumerate(q):
        out.put(i // 64 * 32 + i % 32, 4 * (i % 64 // 32), number & 15, 4)
    return bytes(out.bytes)


def part_bits(bits):
    """Bit of element i in byte i % 32, at i / 32."""
    out = Bits(32)
    for i, bit in enumerate(bits):
        out.put(i % 32, i // 32, bit, 1)
    return bytes(out.bytes)


def q2_k(rng):
    (raw_d, d), (raw_m, dmin) = half(rng.uniform(0, 2)), half(rng.uniform(0, 2))
    scales, minima, q = numbers(rng, 16, 4), numbers(rng, 16, 4), numbers(rng, 256, 2)
    values = [single(single(single(d * scales[i // 16]) * n) - single(dmin * minima[i // 16])) for i, n in enumerate(q)]
    return bytes(s | m << 4 for s, m in zip(scales, minima)) + two_bits(q) + raw_d + raw_m, values


def q3_k(rng):
    raw_d, d = half(rng.uniform(-2, 2))
    scales, q = numbers(rng, 16, 6), numbers(rng, 256, 3)
    packed = Bits(12)
    for i, scale in enumerate(scales):
        packed.put(i % 8, 4 * (i // 8), scale & 15, 4)
        packed.put(8 + i % 4, 2 * (i // 4), scale >> 4, 2)
    values = [single(single(d * (scales[i // 16] - 32)) * (n - 4)) for i, n in enumerate(q)]
    return part_bits([n >> 2 for n in q]) + two_bits(q) + bytes(packed.bytes) + raw_d, values


def of_parts(rng, bits):
    (raw_d, d), (raw_m, dmin) = half(rng.uniform(0, 2)), half(rng.uniform(0, 2))
    scales, minima, q = numbers(rng, 8, 6), numbers(rng, 8, 6), numbers(rng, 256, bits)
    packed = Bits(12)
    for i in range(4):
        packed.put(i, 0, scales[i], 6)
        packed.put(i + 4, 0, minima[i], 6)
        packed.put(i + 8, 0, scales[i + 4] & 15, 4)
        packed.put(i + 8, 4, minima[i + 4] & 15, 4)
        packed.put(i, 6, scales[i + 4] >> 4, 2)
        packed.put(i + 4, 6, minima[i + 4] >> 4, 2)
    values = [single(single(single(d * scales[i // 32]) * n) - single(dmin * minima[i // 32])) for i, n in enumerate(q)]
    fifths = part_bits([n >> 4 for n in q]) if bits == 5 else b""
    return raw_d + raw_m + bytes(packed.bytes) + fifths + four_bits(q), values


def q6_k(rng):
    raw_d, d = half(rng.uniform(-2, 2))
    scales, q = [rng.randrange(-128, 128) for _ in range(16)], numbers(rng, 256, 6)
    low, high = Bits(128), Bits(64)
    for i, n in enumerate(q):
        quarter = i % 128 // 32
        low.put(i // 128 * 64 + quarter % 2 * 32 + i % 32, 4 * (quarter // 2), n & 15, 4)
        high.put(i // 128 * 32 + i % 32, 2 * quarter, n >> 4, 2)
    values = [single(single(d * scales[i // 16]) * (n - 32)) for i, n in enumerate(q)]
    return bytes(low.bytes) + bytes(high.bytes) + struct.pack("16b", *scales) + raw_d, values


TYPES = {"Q4_0": lambda rng: of_32(rng, 4, False), "Q4_1": lambda rng: of_32(rng, 4, True),
         "Q5_0": lambda rng: of_32(rng, 5, False), "Q5_1": lambda rng: of_32(rng, 5, True), "Q8_0": q8_0,
         "Q2_K": q2_k, "Q3_K": q3_k, "Q4_K": lambda rng: of_parts(rng, 4), "Q5_K": lambda rng: of_parts(rng, 5),
         "Q6_K": q6_k}


def lines(items):
    text = ""
    for item in items:
        if len(text.rsplit("\n", 1)[-1]) + len(item) > 90:
            text += "\n    "
        text += item + ","
    return text


def main():
    print("/* Written by packed.py: a block of each packed type, and its values. */\n/* clang-format off */")
    print("static const struct packed_sample {\n    const char *type;\n    unsigned char block[256];\n"
          "    float values[256];\n} packed_samples[] = {")
    rng = random.Random(1)
    for name, make in TYPES.items():
        block, values = make(rng)
        print(f'    {{ "{name}", {{\n    {lines(str(byte) for byte in block)} }}, {{\n'
              f'    {lines(value.hex() + "f" for value in values)} }} }},')
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    main()
