"""Writes tests/samples/inputs/tar_samples.h: a tar archive of one picture and its label, made by Python's
tarfile in pax format with a long name, which the contract test has ten times; the picture is one grey pixel.

Usage: tar_samples.py >tests/samples/inputs/tar_samples.h (package pillow)"""
import io
import tarfile

from PIL import Image

memory = io.BytesIO()
Image.new("RGB", (2, 2), (10, 20, 30)).save(memory, format="PNG")
png = memory.getvalue()
archive = io.BytesIO()
with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
    for name, content in (("a/" + "n" * 120 + ".png", png), ("a/" + "n" * 120 + ".cls", b"3\n"),
                          ("b.note.txt", b"not read"), ("c.cls", b"4"), ("c.png", png)):
        info = tarfile.TarInfo(name)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
content = archive.getvalue().rstrip(b"\0") + bytes(512)
lines, line = [], ""
i = 0
while i < len(content):
    byte = content[i]
    following = content[i + 1] if i + 1 < len(content) else 0
    part = f"\\{byte:o}" if not 48 <= following <= 57 else f"\\{byte:03o}"
    if 32 <= byte < 127 and chr(byte) not in '"\\?':
        part = chr(byte)
    zeros = len(content[i:]) - len(content[i:].lstrip(b"\0"))
    if zeros >= 16:
        if line:
            lines.append(f'"{line}"')
            line = ""
        lines.append("ZEROS_16")
        i += 16
        continue
    if len(line) + len(part) > 84:
        lines.append(f'"{line}"')
        line = ""
    line += part
    i += 1
lines.append(f'"{line}"')
out, row = [], ""
for part in lines:
    if row and len(row) + 1 + len(part) > 92:
        out.append(row)
        row = ""
    row += (" " if row else "") + part
out.append(row)
print('/* Written by tests/reference/tar_samples.py: an archive for the contract test. */\n'
      "#ifndef CSE_TESTS_SAMPLES_INPUTS_TAR_SAMPLES_H\n#define CSE_TESTS_SAMPLES_INPUTS_TAR_SAMPLES_H\n\n"
      "/* clang-format off */\n"
      '#define ZEROS_16 "\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0"')
print("static const char tar_archive[] =\n    " + "\n    ".join(out) + ";")
print("/* clang-format on */\n\n#endif")
