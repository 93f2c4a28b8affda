"""Writes dataloader/tokenizer/text/character_scripts.c: the scripts of characters as the pre-tokenizer UnicodeScripts of
Hugging Face's tokenizers has them, asked of each character by itself: Hiragana and Katakana count as Han, and a
character without a script, as the space, is cut from none.

Usage: character_scripts.py >dataloader/tokenizer/text/character_scripts.c (package tokenizers)"""
from tokenizers import pre_tokenizers

cut = pre_tokenizers.UnicodeScripts().pre_tokenize_str
samples = []  # a character of each script
ranges = []
for c in range(0x110000):
    if 0xD800 <= c < 0xE000 or not cut(chr(c)):
        continue
    last = [ranges[-1][2]] if ranges else []
    script = next((s for s in last + list(range(len(samples))) if len(cut(samples[s] + chr(c))) == 1), len(samples))
    if script == len(samples):
        samples.append(chr(c))
    if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == script:
        ranges[-1][1] = c
    else:
        ranges.append([c, c, script])

lines, line = [], "   "
for first, final, script in ranges:
    row = f" {{ 0x{first:x}, 0x{final:x}, {script + 1} }},"
    if len(line) + len(row) > 98:
        lines.append(line)
        line = "   "
    line += row
rows = "\n".join(lines + [line])
print(f"""/* Written by tests/reference/character_scripts.py. A table of ranges, searched by halving; the
 * number of a script is its place among those that are found from U+0000 on. */
#include "dataloader/tokenizer/text/character_scripts.h"

#include <stddef.h>

/* clang-format off */
static const struct {{
    uint32_t first, last;
    int script;
}} ranges[] = {{
{rows}
}};
/* clang-format on */

int cse_script_of(uint32_t character)
{{
    size_t low = 0, high = sizeof ranges / sizeof ranges[0];
    while (low < high) {{
        const size_t middle = low + (high - low) / 2;
        if (character < ranges[middle].first)
            high = middle;
        else if (character > ranges[middle].last)
            low = middle + 1;
        else
            return ranges[middle].script;
    }}
    return 0;
}}""")
