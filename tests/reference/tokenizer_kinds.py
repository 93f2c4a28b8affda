"""Kinds of tokenizers as changes of members of tokenizer_plain.json, and the numbers and texts that Hugging Face's
tokenizers give for a few texts.

Usage: tokenizer_kinds.py >tokenizer_kinds.h (package tokenizers)"""
import json
import os

from tokenizers import Tokenizer
from bytes_as_c import literal

BASE = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizer_plain.json")))
NEXT = len(BASE["model"]["vocab"])
TEXTS = ["the  cat's <sep>  sat<|x|>  , 1234 don't",
         " e\u0323\u0301 \u212b ﬁ Ａ１ ½ İst \u0344\u1e9b\u0323 日本 \U0001f469\u200d\U0001f467",
         "wordy word.word the_word word\t\t  \u00a0x\u3000\r\n", "!", "\u0000\u007f\ufffd Ġa Ünï ÜNÏUNI", "   ", "the theThe THE"]


def added(*tokens, first=NEXT):
    return [dict(id=first + n, special=False, **{**dict(single_word=False, lstrip=False, rstrip=False, normalized=True), **t})
            for n, t in enumerate(tokens)]


def sequence(*entries):
    return {"type": "Sequence", "pretokenizers": list(entries)}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def norms(*entries):
    return {"normalizer": {"type": "Sequence", "normalizers": [e if isinstance(e, dict) else {"type": e} for e in entries]}}


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
CHARACTERS = ["<unk>", *[f"<0x{b:02X}>" for b in range(256)], "▁", *"thecasdonwr.,'1", "▁t", "th", "▁th", "▁the", "he", "wo"]
MERGES = [["▁", "t"], ["t", "h"], ["▁t", "h"], ["▁th", "e"], ["h", "e"], ["w", "o"]]
ON_CHARACTERS = {"added_tokens": [], "model": {
    "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
    "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
    "vocab": {t: n for n, t in enumerate(CHARACTERS)}, "merges": MERGES}}
WITHOUT_BYTES = {"added_tokens": [], "model": {**ON_CHARACTERS["model"], "byte_fallback": False, "vocab": {
    t: n for n, t in enumerate(t for t in CHARACTERS if not t.startswith("<0x"))}}}
PIECES = ["[UNK]", "the", "cat", "word", "##y", "##s", "'", ",", ".", "_", "1", "##2", "##3", "don", "t", "e", "日", "!"]
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
kinds = {
    "added tokens": {"added_tokens": BASE["added_tokens"] + added(
        dict(content="<sep>", lstrip=True), dict(content="<|x|>", rstrip=True, normalized=False),
        dict(content="word", single_word=True), dict(content="  ", normalized=False), dict(content="\t\t"))},
    "a byte's symbol": {"added_tokens": BASE["added_tokens"] + [
        {**added(dict(content=c))[0], "id": BASE["model"]["vocab"][c]} for c in ("Ġ", "!", "t")]},
    "normalized tokens": {**norms("Lowercase"), "added_tokens": BASE["added_tokens"] + added(
        dict(content="Ünï"), dict(content="THE", single_word=True), dict(content="UNI", normalized=False))},
    "NFC": norms("NFC"), "NFD": norms("NFD", "StripAccents"), "NFKC": norms("NFKC", "Lowercase"), "NFKD": norms("NFKD"),
    "ends": norms({"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Prepend", "prepend": "x "}),
    "replaced": norms({"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
                      {"type": "Replace", "pattern": {"String": "the"}, "content": ""}, "Nmt"),
    "literal": {"pre_tokenizer": sequence(split("he", kind="String"), BYTES)},
    "removed": {"pre_tokenizer": sequence(split(r"\s+", "Removed"), BYTES)},
    "inverted": {"pre_tokenizer": sequence(split(r"\p{L}+", "Removed", True), BYTES)},
    "with previous": {"pre_tokenizer": sequence(split(r"\s", "MergedWithPrevious"), BYTES)},
    "with next": {"pre_tokenizer": sequence(split(r"\s", "MergedWithNext"), BYTES)},
    "contiguous": {"pre_tokenizer": sequence(split(r"[\s\p{P}]", "Contiguous"), BYTES)},
    "characters": {"pre_tokenizer": sequence({"type": "Punctuation", "behavior": "Isolated"}, {"type": "Digits",
                   "individual_digits": False}, {"type": "WhitespaceSplit"}, {**BYTES, "add_prefix_space": True})},
    "scripts": {"pre_tokenizer": sequence({"type": "UnicodeScripts"}, BYTES)},
    "word within brackets": {"pre_tokenizer": sequence(split(r"\w+|[^\w\s]+", "Removed"), BYTES)},
    "white space twice": {"added_tokens": BASE["added_tokens"] + added(dict(content=" ", lstrip=True, rstrip=True),
                                                                       dict(content="\t", lstrip=True))},
    "numbers of characters": {"pre_tokenizer": sequence(split(r"[\u3040-\u9fff\x41-\x{5a}]+|\p{N}{1,3}"), BYTES)},
    "Llama 2": {**ON_CHARACTERS, **norms({"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "},
                "content": "▁"}), "pre_tokenizer": None, "decoder": {"type": "Sequence", "decoders": [
                    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
                    {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}},
    "Metaspace": {**WITHOUT_BYTES, "pre_tokenizer": METASPACE, "decoder": METASPACE, "added_tokens": added(
        dict(content="<sep>", lstrip=True), first=len(WITHOUT_BYTES["model"]["vocab"]))},
    "BERT": {"added_tokens": [], "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
             "strip_accents": None, "lowercase": True}, "pre_tokenizer": {"type": "BertPreTokenizer"},
             "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
             "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                       "max_input_chars_per_word": 100, "vocab": {t: n for n, t in enumerate(PIECES)}}},
    "bytes in pieces": {"added_tokens": [], "pre_tokenizer": {**BYTES, "use_regex": True}, "decoder": None,
                        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                                  "max_input_chars_per_word": 7, "vocab": {t: n for n, t in enumerate(
                                      [*PIECES, "Ġ", "##cat", "æ", "##Ĺ", "##¥", "##æľ", "##¬", "##t", "##he"])}}},
    "words": {"added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "decoder": None,
              "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {t: n for n, t in enumerate(PIECES)}}},
}
print("/* Written by tokenizer_kinds.py: members in place of those of tokenizer_plain.json, and what\n"
      " * Hugging Face's tokenizers makes of the texts: numbers, and the text back. */\n/* clang-format off */\n"
      f"enum {{ KIND_TEXTS = {len(TEXTS)} }};\n"
      "static const struct kind_text { const char *bytes; size_t size; } kind_texts[KIND_TEXTS] = {")
for text in TEXTS:
    print(f"    {{ {literal(text.encode())},\n    {len(text.encode())} }},")
print("};\nstatic const struct tokenizer_kind {\n    const char *name, *members;\n    struct {\n        int32_t ids[96];\n"
      "        const char *back;\n        size_t size;\n    } results[KIND_TEXTS];\n} tokenizer_kinds[] = {")
for name, members in kinds.items():
    tokenizer = Tokenizer.from_str(json.dumps({**BASE, **members}))
    print(f'    {{ "{name}",\n    {literal(json.dumps(members, separators=(",", ":")).encode())}, {{')
    for text in TEXTS:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        back = (tokenizer.decode(ids, skip_special_tokens=False) if ids else "").encode()
        rows = ", ".join(map(str, ids + [-1]))
        lines = [rows] if len(rows) < 90 else [", ".join(map(str, (ids + [-1])[i:i + 18])) for i in range(0, len(ids) + 1, 18)]
        print("    { { " + ",\n    ".join(lines) + f" }},\n    {literal(back)}, {len(back)} }},")
    print("    } },")
print("};\n/* clang-format on */")
