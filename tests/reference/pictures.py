"""Pictures of every kind that is accepted, damaged ones, and what Pillow makes of each.

Usage: pictures.py >tests/reference/pictures.h       a few, with the CRC-32 of Pillow's pixels
       pictures.py FOLDER SEED COUNT                 COUNT of each kind as files: NAME, NAME.rgb (width, height
                                                     and pixels), NAME.turned (by their EXIF), NAME.refused (Pillow
                                                     refuses it), NAME.damaged (equal or refused)
(packages pillow, numpy)"""
import io
import struct
import sys
import warnings
import zlib

import numpy as np
from PIL import Image, ImageOps
from bytes_as_c import literal

warnings.simplefilter("ignore")
Image.MAX_IMAGE_PIXELS = None
random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 7)
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def size(most=23 if len(sys.argv) > 1 else 9):
    return int(random.integers(1, most)), int(random.integers(1, most))


def smooth(width, height, channels=3):
    shape = (5, 5, channels) if channels > 1 else (5, 5)
    coarse = Image.fromarray(random.integers(0, 256, shape, dtype=np.uint8))
    return coarse.resize((width, height), Image.BICUBIC)


def exif(orientation, prefix=b""):
    order = random.choice(["<", ">"])
    mark = b"II" if order == "<" else b"MM"
    return prefix + mark + struct.pack(order + "HIHHHIHHI", 42, 8, 1, 0x0112, 3, 1, orientation, 0, 0)


# ---- PNG, by hand, since Pillow writes few of its kinds ----

def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def filtered(rows, step):
    """Each row by a filter of its own."""
    above, out = bytes(len(rows[0])), b""
    for row in rows:
        kind = int(random.integers(0, 5))
        line = bytearray(row)
        for i, value in enumerate(row):
            a = row[i - step] if i >= step else 0
            b, c = above[i], above[i - step] if i >= step else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[i] = (value - [0, a, b, (a + b) // 2, nearest][kind]) & 255
        out += bytes([kind]) + bytes(line)
        above = row
    return out


def png(colour, depth, interlaced, more=b"", entries=None, behind=b""):
    width, height = size()
    bits = CHANNELS[colour] * depth
    step, raw = max(1, bits // 8), b""
    for x, y, dx, dy in PASSES if interlaced else [(0, 0, 1, 1)]:
        columns, lines = -(-(width - x) // dx), -(-(height - y) // dy)
        if columns > 0 and lines > 0:
            raw += filtered([random.bytes((columns * bits + 7) // 8) for _ in range(lines)], step)
    body, parts, at = zlib.compress(raw), b"", 0
    while at < len(body):
        length = int(random.integers(0, 200))
        parts += chunk(b"IDAT", body[at:at + length])
        at += length
    if colour == 3:
        more = chunk(b"PLTE", random.bytes(3 * (entries or int(random.integers(1, 257))))) + more
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))
            + more + parts + behind + chunk(b"IEND", b""))


def pngs():
    for colour, depths in ((0, (1, 2, 4, 8, 16)), (2, (8, 16)), (3, (1, 2, 4, 8)), (4, (8, 16)), (6, (8, 16))):
        for depth in depths:
            for interlaced in (0, 1):
                yield f"{colour}_{depth}_{interlaced}.png", png(colour, depth, interlaced)
    yield "indexed_transparent.png", png(3, 8, 0, chunk(b"tRNS", random.bytes(1)))
    yield "indexed_beyond_palette.png", png(3, 8, 0, entries=3)
    yield "grey_transparent.png", png(0, 8, 0, chunk(b"tRNS", b"\0\7"))
    yield "colour_transparent.png", png(2, 8, 0, chunk(b"tRNS", random.bytes(6)))
    yield "gamma.png", png(2, 8, 0, chunk(b"gAMA", struct.pack(">I", 100000)) + chunk(b"sBIT", b"\5\6\5"))
    yield "exif.png", png(2, 8, 0, chunk(b"eXIf", exif(int(random.integers(1, 9)))))
    yield "exif_behind.png", png(6, 8, 0, behind=chunk(b"eXIf", exif(int(random.integers(1, 9)))))
    memory = io.BytesIO()
    frames = [smooth(9, 7), smooth(9, 7)]
    frames[0].save(memory, "PNG", save_all=True, append_images=frames[1:])
    yield "animated.png", memory.getvalue()


# ---- JPEG and WebP, by Pillow ----

def stored(image, kind, **options):
    memory = io.BytesIO()
    image.save(memory, kind, **options)
    return memory.getvalue()


def ycck(content):
    """Inks whose transform in the segment of Adobe is made 2: luma and chroma of them."""
    at = content.index(b"Adobe")
    return content[:at + 11] + b"\2" + content[at + 12:]


def jpegs():
    quality = int(random.integers(30, 100))
    small = dict(optimize=True)
    for sampling in (0, 1, 2):
        for progressive in (False, True):
            yield (f"colour_{sampling}_{int(progressive)}.jpg",
                   stored(smooth(*size()), "JPEG", quality=quality, subsampling=sampling, progressive=progressive,
                          **small))
    yield "grey.jpg", stored(smooth(*size(), 1), "JPEG", quality=quality, **small)
    yield "rgb.jpg", stored(smooth(*size()), "JPEG", quality=quality, keep_rgb=True, **small)
    yield "restart.jpg", stored(smooth(40, 33), "JPEG", quality=quality, restart_marker_blocks=2, **small)
    inks = smooth(*size(), 4)
    inks = Image.merge("CMYK", inks.split())
    yield "inks.jpg", stored(inks, "JPEG", quality=quality, **small)
    yield "inks_progressive.jpg", stored(inks, "JPEG", quality=quality, progressive=True, **small)
    yield "inks_of_luma.jpg", ycck(stored(inks, "JPEG", quality=quality, **small))
    for orientation in range(2, 9):
        yield (f"exif_{orientation}.jpg",
               stored(smooth(*size()), "JPEG", quality=90, exif=exif(orientation, b"Exif\0\0"), **small))
    yield "behind.jpg", stored(smooth(*size()), "JPEG") + b"what stands behind the end"
    yield "two.jpg", stored(smooth(9, 8), "MPO", save_all=True, append_images=[smooth(9, 8)])


def webps():
    for lossless in (False, True):
        for channels in (3, 4):
            yield (f"still_{int(lossless)}_{channels}.webp",
                   stored(smooth(*size(), channels), "WEBP", lossless=lossless, exact=True, quality=60))
    for orientation in (1, 5, 6, 8):
        yield f"exif_{orientation}.webp", stored(smooth(*size()), "WEBP", exif=exif(orientation, b"Exif\0\0"))
    width, height = size()
    yield "animated.webp", stored(smooth(width, height, 4), "WEBP", save_all=True, lossless=True,
                                  append_images=[smooth(width, height, 4) for _ in range(2)])


# ---- damage ----

def flipped(content):
    at = int(random.integers(2, len(content)))
    return content[:at] + bytes([content[at] ^ 1 << int(random.integers(0, 8))]) + content[at + 1:]


def cut(content):
    return content[:int(random.integers(4, len(content)))]


def damaged():
    for name, content in (("a.png", png(2, 8, 0)), ("b.png", png(3, 4, 1)), ("a.jpg", stored(smooth(*size()), "JPEG")),
                          ("b.jpg", stored(smooth(30, 40), "JPEG", progressive=True)),
                          ("a.webp", stored(smooth(*size()), "WEBP"))):
        yield "flipped_" + name, flipped(content)
        yield "cut_" + name, cut(content)


def pixels(content, turns=False):
    """None where Pillow refuses it."""
    try:
        image = Image.open(io.BytesIO(content))
        image.load()
        if turns:
            image = ImageOps.exif_transpose(image)
        return image.convert("RGB")
    except Exception:
        return None


def write_folder(folder, count):
    for n in range(count):
        for name, content in [*pngs(), *jpegs(), *webps(), *damaged()]:
            path = f"{folder}/{n}_{name}"
            picture = pixels(content)
            open(path, "wb").write(content)
            if picture is None:
                open(path + ".refused", "wb")
                continue
            if name.startswith(("flipped", "cut")):
                open(path + ".damaged", "wb")
            for ending, one in ((".rgb", picture), (".turned", pixels(content, True))):
                open(path + ending, "wb").write(struct.pack("<II", *one.size) + one.tobytes())


def write_header():
    print("/* Written by pictures.py: pictures, and the CRC-32 of Pillow's pixels, as they are stored and\n"
          " * as their EXIF turns them. */\n/* clang-format off */")
    print("static const struct known_picture {\n    const char *name, *bytes;\n    size_t size;\n"
          "    int width, height;\n    uint32_t pixels, turned;\n} known_pictures[] = {")
    for name, content in [*pngs(), *jpegs(), *webps()]:
        picture, turned = pixels(content), pixels(content, True)
        print(f'    {{ "{name}",\n    {literal(content)},\n    {len(content)}, {picture.size[0]}, {picture.size[1]}, '
              f"0x{zlib.crc32(picture.tobytes()):08x}u, 0x{zlib.crc32(turned.tobytes()):08x}u }},")
    print("};\n/* clang-format on */")


if len(sys.argv) > 1:
    write_folder(sys.argv[1], int(sys.argv[3]))
else:
    write_header()
