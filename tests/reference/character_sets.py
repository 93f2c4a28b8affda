"""Writes dataloader/tokenizer/text/character_sets.c: the characters that the parts of Hugging Face's tokenizers count as
punctuation, digits, parts of words, marks and controls, asked of each character by itself, what it writes in lower
case where utf8proc has another one, and the characters that its normalisation does not know yet.

Usage: character_sets.py >dataloader/tokenizer/text/character_sets.c (package tokenizers; the shared library utf8proc)"""
import ctypes

from tokenizers import normalizers, pre_tokenizers

utf8proc = ctypes.CDLL("libutf8proc.so.2")
utf8proc.utf8proc_map.restype = ctypes.c_ssize_t
release = ctypes.CDLL(None).free
STABLE, COMPAT, COMPOSE, DECOMPOSE = 2, 4, 8, 16
ALL = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def normalized(text, options):
    content, out = text.encode(), ctypes.c_void_p()
    size = utf8proc.utf8proc_map(content, ctypes.c_ssize_t(len(content)), ctypes.byref(out), ctypes.c_int(options))
    result = ctypes.string_at(out, size).decode()
    release(out)
    return result


def splits(pre_tokenizer):
    return lambda c: len(pre_tokenizer.pre_tokenize_str(f"a{chr(c)}a")) > 1


def vanishes(normalizer):
    return lambda c: normalizer.normalize_str(f"a{chr(c)}") == "a"


FORMS = [(normalizers.NFD(), STABLE | DECOMPOSE), (normalizers.NFKD(), STABLE | DECOMPOSE | COMPAT)]


def is_unknown(c):
    """Between marks of the highest and the lowest class it is moved, or it is taken apart, only here."""
    return any(form.normalize_str(text) != normalized(text, options)
               for form, options in FORMS for text in (f"a\u0345{chr(c)}", f"a{chr(c)}\u0334", f"a\u0334{chr(c)}\u0334"))


word = pre_tokenizers.Whitespace()
lower = normalizers.Lowercase()


def bert(**options):
    return normalizers.BertNormalizer(**{**dict(clean_text=False, handle_chinese_chars=False, strip_accents=False,
                                                lowercase=False), **options})


chinese = bert(handle_chinese_chars=True)
sets = [
    ("CSE_PUNCTUATION", splits(pre_tokenizers.Punctuation())),
    ("CSE_NUMERIC", splits(pre_tokenizers.Digits(individual_digits=True))),
    ("CSE_WORD_PART", lambda c: len(word.pre_tokenize_str(f"a{chr(c)}a")) == 1),
    ("CSE_MARK", vanishes(normalizers.StripAccents())),
    ("CSE_CONTROL", vanishes(bert(clean_text=True))),
    ("CSE_ACCENT", vanishes(bert(strip_accents=True))),
    ("CSE_IDEOGRAPH", lambda c: chinese.normalize_str(f"a{chr(c)}a") != f"a{chr(c)}a"),
    ("CSE_NOT_NORMALIZED", lambda c: c in UNKNOWN),
]
# With what the pairs end that are put together here alone.
UNKNOWN = set(filter(is_unknown, ALL))
UNKNOWN |= {ord(normalized(chr(c), STABLE | DECOMPOSE)[-1]) for c in UNKNOWN}


def ranges(test):
    found = []
    for c in filter(test, ALL):
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def table(rows):
    lines, line = [], "   "
    for row in rows:
        if len(line) + len(row) > 96:
            lines.append(line)
            line = "   "
        line += " " + row + ","
    return "\n".join(lines + [line])


print("""/* Written by tests/reference/character_sets.py. Tables of ranges, searched by halving. */
#include "dataloader/tokenizer/text/character_sets.h"

#include <stddef.h>
#include <utf8proc.h>

typedef struct range {
    uint32_t first, last;
} range;

/* clang-format off */""")
for name, test in sets:
    print(f"static const range {name[4:].lower()}[] = {{")
    print(table(f"{{ 0x{a:x}, 0x{b:x} }}" for a, b in ranges(test)))
    print("};\n")
print("static const range lower_cases[] = { /* a character and its lower case */")
print(table(f"{{ 0x{c:x}, 0x{ord(lower.normalize_str(chr(c))):x} }}" for c in ALL
            if len(lower.normalize_str(chr(c))) == 1
            and ord(lower.normalize_str(chr(c))) != utf8proc.utf8proc_tolower(ctypes.c_int32(c))))
print("};")
print("/* clang-format on */\n")
print("#define SET(array) { array, sizeof(array) / sizeof((array)[0]) }\n")
print("static const struct {\n    const range *ranges;\n    size_t count;\n} sets[] = {")
for name, _ in sets:
    print(f"    [{name}] = SET({name[4:].lower()}),")
print("""};

static const range *find(const range *ranges, size_t count, uint32_t character)
{
    size_t low = 0;
    while (low < count) {
        const size_t middle = low + (count - low) / 2;
        if (character < ranges[middle].first)
            count = middle;
        else if (character > ranges[middle].last)
            low = middle + 1;
        else
            return &ranges[middle];
    }
    return NULL;
}

bool cse_is_in_set(cse_character_set set, uint32_t character)
{
    return find(sets[set].ranges, sets[set].count, character) != NULL;
}

uint32_t cse_lower_case(uint32_t character)
{
    for (size_t i = 0; i < sizeof lower_cases / sizeof lower_cases[0]; i++)
        if (lower_cases[i].first == character)
            return lower_cases[i].last;
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)character);
}""")
