"""Writes dataloader/tokenizer/text/character_classes.c: what PCRE2 10.42 (Unicode 14) does not count yet to the
classes that split patterns name, and Hugging Face's tokenizers does (Unicode 16). Run with the package
`tokenizers` and libpcre2-8.so.0 of version 10.42.

Usage: character_classes.py >dataloader/tokenizer/text/character_classes.c"""
import ctypes

from tokenizers import Regex, pre_tokenizers

CATEGORIES = "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp Cc Cf".split()
SCRIPTS = "Han Hiragana Katakana Hangul Latin Greek Cyrillic Arabic Hebrew Thai Devanagari".split()
WORD = ["w", "[w]"]  # letters, marks, digits and what joins them; within brackets without ² ³ ¹ ¼ ½ ¾
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
UTF_AND_UCP = 0x00080000 | 0x00020000
pcre2 = ctypes.CDLL("libpcre2-8.so.0")
pcre2.pcre2_compile_8.restype = pcre2.pcre2_match_data_create_8.restype = ctypes.c_void_p


def of_pcre2(pattern):
    error, at = ctypes.c_int(), ctypes.c_size_t()
    code = ctypes.c_void_p(pcre2.pcre2_compile_8(pattern.encode(), ctypes.c_size_t(len(pattern)), UTF_AND_UCP,
                                                 ctypes.byref(error), ctypes.byref(at), None))
    data = ctypes.c_void_p(pcre2.pcre2_match_data_create_8(1, None))

    def matches(point):
        text = chr(point).encode()
        return pcre2.pcre2_match_8(code, text, ctypes.c_size_t(len(text)), ctypes.c_size_t(0), 0, data, None) > 0

    return {point for point in POINTS if matches(point)}


def of_tokenizers(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    left = {ord(c) for piece, _ in split.pre_tokenize_str("".join(map(chr, POINTS))) for c in piece}
    return set(POINTS) - left


def text_of(name):
    pattern = rf"\p{{sc:{name}}}" if name in SCRIPTS else rf"\p{{{name}}}"
    if name in WORD:
        pattern = r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}"
    ours = of_pcre2(f"[{pattern}]")
    theirs = of_tokenizers(name.replace("w", r"\w") if name in WORD else rf"\p{{{name}}}")
    if ours - theirs:  # some have moved to another category since: all are listed
        pattern, ours = "", set()
    ranges = []
    for point in sorted(theirs - ours):
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    parts = [pattern] * bool(pattern) + [rf"\x{{{a:x}}}" + (rf"-\x{{{b:x}}}" if b > a else "") for a, b in ranges]
    lines, line = [], ""
    for part in parts:
        part = part.replace("\\", "\\\\")
        if line and len(line) + len(part) > 84:
            lines.append(line)
            line = ""
        line += part
    return "\n      ".join(f'"{one}"' for one in lines + [line])


print("/* Written by tests/reference/character_classes.py: each class as PCRE2 10.42 has it, and what\n"
      " * Unicode 15 and 16 added to it. A later PCRE2 has these characters, too. */\n"
      '#include "dataloader/tokenizer/text/character_classes.h"\n\n#include <stddef.h>\n#include <string.h>\n\n'
      "static const struct {\n    const char *name, *members;\n} classes[] = {\n    /* clang-format off */")
for name in CATEGORIES + SCRIPTS + WORD:
    print(f'    {{ "{name}",\n      {text_of(name)} }},')
print("""    /* clang-format on */
};

const char *cse_character_class(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (strlen(classes[i].name) == size && memcmp(classes[i].name, name, size) == 0)
            return classes[i].members;
    return NULL;
}""")
