"""Bytes as a string of C, for the scripts here that write files into headers."""


def literal(content):
    """Lines in quotes, of at most 90 columns; only what cannot stand there is escaped."""
    lines, line = [], ""
    for n, byte in enumerate(content):
        following = content[n + 1] if n + 1 < len(content) else 0
        part = f"\\{byte:o}" if not 48 <= following <= 57 else f"\\{byte:03o}"
        if 32 <= byte < 127 and chr(byte) not in '"\\?':
            part = chr(byte)
        if len(line) + len(part) > 84:
            lines.append(line)
            line = ""
        line += part
    return "\n    ".join(f'"{one}"' for one in lines + [line])
