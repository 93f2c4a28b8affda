"""Writes the seed corpora of the fuzzers: requests from the examples of the API's description,
configurations, messages, data files, and dictionaries of the words in them.

Usage: make_corpus.py SOURCE_TREE OPENAPI.json DIRECTORY"""
import base64
import glob
import gzip
import io
import json
import math
import os
import re
import struct
import sys
import tarfile

tree, description, out = sys.argv[1:]
document = json.load(open(description))


def write(kind, name, text):
    os.makedirs(f"{out}/{kind}", exist_ok=True)
    with open(f"{out}/{kind}/{name}", "wb") as f:
        f.write(text.encode() if isinstance(text, str) else text)


def words(kind, names):
    with open(f"{out}/{kind}.dict", "w") as f:
        f.write("".join(f'"{name}"\n' for name in sorted(set(names)) if len(name) > 1))


def resolve(node):
    while "$ref" in node:
        target = document
        for word in node["$ref"].split("/")[1:]:
            target = target[word]
        node = target
    return node


def example(schema):
    schema = resolve(schema)
    if "examples" in schema:
        return schema["examples"][0]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: example(member) for name, member in schema.get("properties", {}).items()}
    if kind == "array":
        return [example(schema.get("items", {}))]
    return {"integer": 1, "number": 0.5, "boolean": True, "null": None}.get(kind, "a")


def text_of(value):
    if isinstance(value, list):
        return ",".join(text_of(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def request(path, method, item, operation):
    query, headers = [], ["Host: 127.0.0.1:8080", "Accept: application/json"]
    for parameter in item.get("parameters", []) + operation.get("parameters", []):
        parameter = resolve(parameter)
        value = text_of(example(parameter["schema"]))
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", value)
        elif parameter["in"] == "query":
            query.append(f"{parameter['name']}={value}")
        elif parameter["in"] == "header":
            headers.append(f"{parameter['name']}: {value}")
    target = path + ("?" + "&".join(query) if query else "")
    contents = resolve(operation.get("requestBody", {})).get("content", {})
    for media, content in contents.items() or [(None, None)]:
        body, more = "", []
        if media:
            value = example(content["schema"])
            body = json.dumps(value) if "json" in media else "trainer: {init: {seed: 1}}\n"
            more = [f"Content-Type: {media}", f"Content-Length: {len(body)}"]
        yield f"{method.upper()} {target}\n" + "\n".join(headers + more) + "\n\n" + body


for path, item in document["paths"].items():
    for method, operation in item.items():
        if not isinstance(operation, dict) or "operationId" not in operation:
            continue
        for i, text in enumerate(request(path, method, item, operation)):
            write("request", f"{operation['operationId']}-{i}", text)
host = "Host: 127.0.0.1:8080"
write("request", "token", f"GET /api/v1/jobs\n{host}\nAuthorization: Bearer a-token-of-32-printable-letters.\n\n")
write("request", "cookie", f"GET /api/v1/jobs\n{host}\nX-Cookie: {2**40}.{'0f' * 8}.{'0f' * 32}\n\n")
write("request", "origin", f"GET /api/v1/jobs?limit=2&label=a%3Db\n{host}\nOrigin: http://127.0.0.1:8080\n"
      "Sec-Fetch-Site: same-origin\nSec-Fetch-Mode: navigate\n\n")
write("configuration", "rest", """%YAML 1.1
---
trainer:
  init:
    backend:
      compile_dir: null
      backend_type: CSX
      csx.debug.ini: x
      csx: {performance: {micro_batch_size: auto}, debug.save_gpv: false, precision.optimization_level: 1}
      cluster_config: {num_csx: 2, job_labels: [team=vision, "owner=x.y"], mount_dirs: [/tmp, ~], job_priority: p1,
        job_time_sec: 60, precision_opt_level: 1, mgmt_address: "a:1", notifications: [{mail: x}]}
    model: {name: fc_mnist, library: ./libmodel.so, hidden_sizes: [32]}
    optimizer: {SGD: {lr: 0.01, momentum: .inf, weight_decay: -1.5e-3}}
    schedulers: [{LinearLR: {total_iters: 100}}, {CosineDecayLR: {total_iters: 1_000}}]
    loggers: [{TensorBoardLogger: {}}, {CSVLogger: {}}]
    precision: {fp16_type: bfloat16, graphamp: {preset: mp3, allow: [matmul]}, tile_length: 64}
    loop: {num_steps: 10, eval_frequency: 0.5}
    numerics: {every: 10}
    seed: 1 # a comment
  fit:
    ckpt_path: ~
    train_dataloader: {data_processor: synthetic, features: [16], batch_size: 64, "micro_batch_size": 16}
    val_dataloader: {data_processor: 'csv', path: "a\\tb\\u00e9"}
...
""")
for path in glob.glob(f"{tree}/configs/*.yaml"):
    write("configuration", os.path.basename(path), open(path).read())
names = re.findall(r'"([A-Za-z][A-Za-z0-9_/:.-]*)"', json.dumps(document["paths"]) + json.dumps(document["components"]))
words("request", [n for n in names if len(n) < 40])
tables = "".join(open(p).read() for p in glob.glob(f"{tree}/engine/base/config/*.c"))
words("configuration", re.findall(r'"([A-Za-z][A-Za-z0-9_]*)"', tables))
words("graph", re.findall(r'"([A-Za-z][A-Za-z0-9_]*)"', open(f"{tree}/engine/graph/json.c").read()))


# Messages of each kind in a header's table, with fields of small numbers, texts and bytes.
def messages(harness, path, mark):
    header = open(f"{tree}/{path}").read()
    version = int(re.search(r"_MESSAGE_VERSION = (\d+)", header).group(1))
    table = header[header.index("_MESSAGE_TABLE"):header.index("_MESSAGE_NO_FIELD")]
    for part in re.split(r"MESSAGE\(\s*(?:\\\n\s*)?(?=\d)", table)[1:]:
        number, name = re.match(r"(\d+),\s*(\w+)", part).groups()
        body = b""
        for kind, field in re.findall(r"FIELD\((\w+), (\w+)\)", part):
            value = field.encode().ljust(16, b"_")[:16]
            if kind == "INTEGER":
                body += struct.pack("<q", 1)
            else:
                body += struct.pack("<I", len(value)) + value + (b"\0" if kind == "TEXT" else b"")
        write(harness, name, mark + struct.pack("<HHI", version, int(number), len(body)) + body)
    words(harness, [mark.decode()])


messages("message", "workers/messages/message.h", b"CSEM")
messages("host_message", "workers/group/host_message.h", b"CSEH")

csv = b'\xef\xbb\xbfa,"b c",d\r\n1,-2.5e3,0.1\r\n"3", 4 ,5e-310\n'
write("dataset", "header", b"\1" + csv)
write("dataset", "plain", b"\0" + csv.split(b"\r\n", 1)[1])
write("dataset", "gzip", b"\1" + gzip.compress(csv, mtime=0))
for rank in range(1, 5):
    idx = bytes([0, 0, 8, rank]) + struct.pack(f">{rank}I", *[2] * rank)
    write("dataset", f"idx{rank}", bytes([rank + 1]) + idx + bytes(range(2**rank)))
words("dataset", ["nan", "inf", "1e309", "0x1p3"])
npy = b"\x93NUMPY\1\0v\0" + b"{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }".ljust(117) + b"\n"
write("records", "npy", b"\0" + npy + bytes(12))
memory = io.BytesIO()
with tarfile.open(fileobj=memory, mode="w", format=tarfile.PAX_FORMAT) as tar:
    for name in ("a.jpg", "a.cls", "b" * 120 + ".cls"):
        info = tarfile.TarInfo(name)
        info.size = 3
        tar.addfile(info, io.BytesIO(b"abc"))
archive = memory.getvalue()[:5120]
write("records", "tar", b"\1" + archive)
index = b"512 3 a.jpg\n1536 3 a.cls\n"
write("records", "index", b"\2" + struct.pack("<H", len(index)) + index + archive)
write("records", "lines", b'\3{"text": "a"}\n\n"b"\r\n{"text": 7}\n')
write("records", "pieces", b"\4the cat\nsat " * 20)
write("records", "zstd", b"\4" + bytes.fromhex("28b52ffd0403410000746865206361740a1f3f8b1e"))
header = b'{"__metadata__":{"sample_count":"9"},"x":{"dtype":"I64","shape":[1,2],"data_offsets":[0,16]}}'
write("records", "answer", b"\5" + struct.pack("<Q", len(header)) + header + bytes(16))
words("records", ["data_offsets", "F32", "'descr':", "'shape':", "'<f8'", "path=", "size=", "ustar", "text"])
pictures = open(f"{tree}/tests/samples/inputs/image_folder.h").read()
for name in ("png", "jpeg"):
    text = re.search(name + r"_picture\[\] =(.*?);\n", pictures, re.S).group(1)
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))
    write("image", name, b"\5" + text.encode().decode("unicode_escape").encode("latin-1"))
known = open(f"{tree}/tests/reference/pictures.h").read()
for name, text in re.findall(r'\{ "([a-z0-9_]+\.[a-z]+)",((?:\s*"(?:[^"\\]|\\.)*")+)', known):
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))
    write("image", name, b"\x85" + text.encode().decode("unicode_escape").encode("latin-1"))
words("image", ["RIFF", "WEBP", "VP8 ", "VP8L", "VP8X", "ANMF", "EXIF", "Adobe", "eXIf"])
words("image", ["IHDR", "PLTE", "IDAT", "IEND", "tRNS", "JFIF", "Exif", "\\xff\\xc0", "\\xff\\xda", "\\xff\\xc4"])
words("hdf5_weights", ["OHDR", "HEAP", "TREE", "SNOD", "FRHP", "BTHD", "weight"])
words("hdf5", ["OHDR", "HEAP", "TREE", "SNOD", "FRHP", "BTHD", "data"])
for name in ("plain", "split", "digits"):
    text = open(f"{tree}/tests/reference/tokenizer_{name}.json").read()
    write("tokenizer", name, text + "\n%%\n\n%%\nthe cat's  12 \u00e9<|mask|> <|endoftext|> aaaa")
kinds = open(f"{tree}/tests/reference/tokenizer_kinds.h").read()
plain = json.load(open(f"{tree}/tests/reference/tokenizer_plain.json"))
for name, text in re.findall(r'\{ "([A-Za-z0-9 \']+)",((?:\s*"(?:[^"\\]|\\.)*")+), \{', kinds):
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).encode().decode("unicode_escape").encode("latin-1")
    members = json.loads(text)
    if "model" not in members:
        few = dict(sorted(plain["model"]["vocab"].items(), key=lambda one: one[1])[:12])
        members["model"] = {**plain["model"], "vocab": few, "merges": []}
        members["added_tokens"] = []
    write("tokenizer", name.replace(" ", "_"), json.dumps(members) + "\n%%\n\n%%\nthe  cat\'s e\u0301 12 <sep> \u65e5")
small = ('{"model": {"type": "BPE", "unk_token": "a", "vocab": {"a": 0, "b": 1, "ab": 2, "aba": 3}, "merges": '
         '["a b", ["ab", "a"]]}, "added_tokens": [{"id": 4, "content": "x", "lstrip": true}], "pre_tokenizer": '
         '{"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "[^\\\\s\\\\p{L}]+|\\\\d{1,3}"}, '
         '"behavior": "Isolated"}, {"type": "Digits", "individual_digits": true}, {"type": "ByteLevel"}]}}')
write("tokenizer", "small", small + "\n%%\n\n%%\nababab 12 x")
write("tokenizer", "pair", '{"a": 0, "b": 1, "ab": 2}\n%%\n#version: 0.2\na b\nab a\n')
words("tokenizer", ["NFC", "NFKD", "Lowercase", "StripAccents", "Prepend", "Metaspace", "Punctuation", "MergedWithNext",
                    "Contiguous", "WordPiece", "WordLevel", "byte_fallback", "ByteFallback", "Fuse", "single_word", "rstrip"])
words("tokenizer", re.findall(r'"([A-Za-z_]+)"', small) + ["\\\\p{N}", "(?!", "(?i:", "Removed", "invert", "ignore_merges", "Unigram",
                    "Precompiled", "FixedLength", "UnicodeScripts", "post_processor", "TemplateProcessing", "[^a[b]&&c]",
                    "{1,2}+", "SpecialToken", "type_id", "BertProcessing"])
pairs = (', "post_processor": {"type": "Sequence", "processors": [{"type": "RobertaProcessing", "sep": ["a", 0], "cls": ["b", 1], '
         '"trim_offsets": true, "add_prefix_space": true}, {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", '
         '"type_id": 0}}], "pair": [{"SpecialToken": {"id": "x", "type_id": 2}}, {"Sequence": {"id": "B", "type_id": 1}}, '
         '{"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"x": {"id": "x", "ids": [0, 4], "tokens": ["a", "x"]}}}]}}')
write("tokenizer", "pairs", small[:-1] + pairs + "\n%%\n\n%%\nababab 12 x")
unigram = ('{"normalizer": {"type": "Precompiled", "precompiled_charsmap": "%s"}, "pre_tokenizer": {"type": "Metaspace", '
           '"replacement": "\\u2581", "prepend_scheme": "first", "split": true}, "post_processor": {"type": "ByteLevel", '
           '"trim_offsets": true}, "decoder": {"type": "CTC", "pad_token": "a", "word_delimiter_token": "b", "cleanup": true}, '
           '"model": {"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": [["a", -1], ["b", -2], ["ab", -2.5], '
           '["\\u2581", -3], ["<0xC3>", -4], ["<0xA9>", -4]]}}')


def delimited(number, content):
    """A field of a message of protocol buffers that is bytes, fewer than 128 * 128 of them."""
    head = bytes([number << 3 | 2])
    size = bytes([len(content)]) if len(content) < 128 else bytes([len(content) & 127 | 128, len(content) >> 7])
    return head + size + content


def sentence_model(kind, charsmap):
    pieces = [("<unk>", 0, 2), ("</s>", 0, 3), ("\u2581", -3, 1), ("a", -4, 1), ("b", -5, 1), ("ab", -1, 1), ("ba", -2, 4)]
    pieces += [(f"<0x{byte:02X}>", 0, 6) for byte in range(256)]
    model = b"".join(delimited(1, delimited(1, text.encode()) + b"\x15" + struct.pack("<f", score) + bytes([0x18, sort]))
                     for text, score, sort in pieces)
    return model + delimited(2, bytes([0x18, kind, 0x98, 2, 1])) + delimited(3, delimited(2, charsmap))


units = [0] * 67  # "bc" for "A": the root leads to unit 65, whose value is unit 66
units[65], units[66] = ord("A") | 1 << 8 | (65 ^ 66) << 10, 1 << 31
charsmap = struct.pack("<68I", 4 * 67, *units) + b"bc\0"
write("tokenizer", "unigram", unigram % base64.b64encode(charsmap).decode() + "\n%%\n\n%%\nA ab  \u00e9 <x>")
for kind in (1, 2):
    write("sentence_piece", f"kind{kind}", sentence_model(kind, charsmap) + "\n%%\nA ab  ba\u00e9 <x>".encode())
words("sentence_piece", ["<unk>", "</s>", "<0x41>", "ab", "\\xe2\\x96\\x81"])

chat = f"{tree}/tests/dataloader/chat"
with open(f"{chat}/rendered.json", encoding="utf-8") as file:
    rendered = json.load(file)
for number, template in enumerate(sorted(os.listdir(f"{chat}/templates"))):
    name = list(rendered["conversations"])[number % 6]
    whole = {"messages": rendered["conversations"][name], **rendered["variants"][2]["variables"]}
    with open(f"{chat}/templates/{template}", encoding="utf-8") as file:
        write("chat_template", template,
              (file.read() + "\n%%\n" + json.dumps(whole)).encode())
rows = [{"messages": messages} for messages in rendered["conversations"].values()]
rows += [{"conversations": [{"from": "human", "value": "ab"}, {"from": "gpt", "value": "b a"}], "system": "s"},
         {"conversations": [{"from": "function_call", "value": '{"name": "a"}'}], "tools": "[{}]"},
         {"instruction": "a", "input": "b", "output": "ab", "history": [["a", "b"]]},
         {"prompt": "a ", "completion": " b"},
         {"prompt": [{"role": "user", "content": "a"}], "completion": [{"role": "assistant", "content": "b"}]}]
marked = "{% for m in messages %}{{ m.role }}{% generation %}{{ m.content }}<e>{% endgeneration %}{% endfor %}"
odd = "{% for m in messages %}{{ m.content }}{{ '<s>' if loop.last }}/{% endfor %}"
for number, row in enumerate(rows):
    for name, template in (("plain", ""), ("marked", marked), ("odd", odd)):
        write("conversations", f"{number}{name}",
              json.dumps(row) + ("\n%%\n" + template if template else ""))
words("conversations", ["messages", "conversations", "role", "content", "user", "assistant", "from", "value",
                        "human", "gpt", "prompt", "completion", "instruction", "output", "history", "tools",
                        "tool_calls", "function_call", "<s>", "<e>", "%%", "generation"])
words("chat_template", ["{%", "%}", "{{", "}}", "{#", "#}", "{%-", "-%}", "for", "in", "if", "else",
                        "set", "macro", "call", "generation", "namespace", "loop", "is", "not",
                        "|tojson", "|map", "|select", "|list", "|sort", "|join", ".split(", "[::-1]",
                        "messages", "range(", "~", "**", "recursive", "raw", "endraw"])
words("manifest", ["csengine artefact 1", "key ", "file ", "manifest ", "step.plan", "kernels.txt", "step.c", "step.so"])
words("checkpoint", ["tensor ", "csengine-seal 3 ", "float32", "int32", "bfloat16", "[]", "[2, 3] ", "fact ", "config "])

# Hellos of host 2 to host 1 and of host 0 to host 1, addresses, frames; see tests/fuzz/link.c.
def hello(host, peer):
    return b"csehosts" + struct.pack("<HBBHHQ", 1, 3, 0, host, peer, 7) + bytes(range(64))


write("link", "accepts", b"\0" + hello(2, 1) + bytes(32))
write("link", "calls", b"\1" + hello(0, 1) + bytes(32))
for index, address in enumerate(["10.0.0.1:7000", "[fd00::1]:7000", "name:7000", ":0"]):
    write("link", f"address{index}", b"\2" + address.encode())
write("link", "bytes", b"\3" + struct.pack("<I", 20) + bytes(60))
for cipher in (5, 13):
    for what in range(5):
        write("link", f"frames{cipher}.{what}", bytes([cipher, 4, 0, 0, 200, 0, 0, 8, what, 9, 1, 0, 0]))
words("link", ["csehosts", "[::1]", ":65535"])

samples = open(f"{tree}/tests/samples/inputs/arrow.h").read()
for name, literal in re.findall(r"char (\w+)\[\] =\n(.*?);\n", samples, re.S):
    quoted = re.findall(r'^ +"(.*)"$', literal, re.M)
    write("arrow", name, eval("b'" + "".join(quoted).replace("'", "\\'") + "'"))
words("arrow", ["ARROW1", "tokens", "ragged"])

header = json.dumps({"__metadata__": {"format": "pt"},
                     "a.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
                     "b": {"dtype": "F16", "shape": [], "data_offsets": [24, 26]}}).encode()
write("weights", "safetensors", struct.pack("<Q", len(header)) + header + bytes(range(26)))
onnx = bytes([8, 2, 16, 1, 66, 1, 119, 74, 8]) + bytes(8)  # a tensor "w" of two float32
onnx = b"\x08\x08\x12\x01c" + b":" + bytes([len(onnx) + 2]) + b"*" + bytes([len(onnx)]) + onnx
write("weights", "onnx", onnx)
write("weights", "lz4", b"L\x1f\7\1\0\x20\x50\1\2\3\4\5")
sys.path.insert(0, f"{tree}/tests/reference")
import gguf_files  # noqa: E402 (beside the readers' other references)

for name, raw in gguf_files.files().items():
    write("gguf", name, raw)
for kind in gguf_files.packed.TYPES:
    if len(gguf_files.packed.TYPES[kind](gguf_files.random.Random(0))[1]) == 32:
        write("gguf", kind, gguf_files.whole(gguf_files.of_pieces(), kind))
    else:
        rng = gguf_files.random.Random(1)
        write("gguf", kind, gguf_files.file({"general.architecture": "csengine"},
                                            [gguf_files.weight(rng, "a", [2, 256], kind)]))
words("gguf", ["GGUF", "general.architecture", "general.alignment", "split.count", "split.no", "llama", "gpt2", "bert",
               "tokenizer.ggml.tokens", "tokenizer.ggml.scores", "tokenizer.ggml.merges", "tokenizer.ggml.token_type",
               "tokenizer.ggml.pre", "tokenizer.ggml.model", "tokenizer.chat_template", "token_embd.weight"])
words("weights", ["dtype", "shape", "data_offsets", "F32", "BF16", "I64", "GGUF", "PK", "torch",
                  "general.architecture", "llama.block_count", "gpt2.block_count", "NUMPY",
                  "_rebuild_tensor_v2", "_rebuild_parameter", "FloatStorage", "OrderedDict",
                  "collections", "torch._utils", "storage", "fortran_order", "descr"])

# Folders: config.json, an index, the header of model.safetensors.
for family in sorted(os.listdir(f"{tree}/tests/reference/weights")):
    folder = f"{tree}/tests/reference/weights/{family}"
    if not os.path.exists(f"{folder}/config.json"):
        continue
    config = json.load(open(f"{folder}/config.json"))
    with open(f"{folder}/model.safetensors", "rb") as file:
        header = file.read(struct.unpack("<Q", file.read(8))[0]).strip()
    names = {name: "model.safetensors" for name in json.loads(header) if name != "__metadata__"}
    index = json.dumps({"metadata": {"total_size": 1}, "weight_map": names}).encode()
    write("folder", family, b"\0".join([json.dumps(config).encode(), b"", header]))
    write("folder", family + "_index", b"\0".join([json.dumps(config).encode(), index, header]))
known = set()
for name in sorted(os.listdir(f"{tree}/maps")):
    if name.endswith(".yaml"):
        text = open(f"{tree}/maps/{name}").read()
        known.update(re.findall(r"theirs: \[?([A-Za-z0-9_.*]+)", text))
        known.update(re.findall(r"model_type: ([a-z0-9_]+)", text))
# Adapters beside the weights that the harness has.
def factors(**shapes):
    """The header of their file."""
    header, at = {}, 0
    for name, shape in shapes.items():
        end = at + 4 * math.prod(shape)
        header["base_model.model." + name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, end]}
        at = end
    return json.dumps(header).encode()


LINEAR = "model.layers.0.self_attn.q_proj.lora_"
plain = {LINEAR + "A.weight": [2, 8], LINEAR + "B.weight": [8, 2]}
down = {"model.layers.0.mlp.down_proj.lora_A.weight": [3, 12], "model.layers.0.mlp.down_proj.lora_B.weight": [8, 3]}
table = {"model.embed_tokens.lora_embedding_A": [2, 12], "model.embed_tokens.lora_embedding_B": [8, 2]}
adapter = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "lora_dropout": 0.1, "bias": "none", "target_modules": ["q_proj"]}
digest = json.dumps({"adapted_weights_digest": "00" * 32}).encode()
for name, more, shapes in (
    ("plain", {}, plain),
    ("patterns", {"rank_pattern": {"down_proj": 3}, "alpha_pattern": {r"layers\.\d+\.mlp": 6.5}, "use_rslora": True}, plain | down),
    ("dora", {"use_dora": True, "fan_in_fan_out": True}, plain | {LINEAR + "magnitude_vector": [8]}),
    ("saved", {"modules_to_save": ["lm_head"]}, plain | table | {"lm_head.weight": [12, 8]}),
):
    write("adapter", name, b"\0".join([json.dumps(adapter | more).encode(), factors(**shapes), b""]))
    write("adapter", name + "_base", b"\0".join([json.dumps(adapter | more).encode(), factors(**shapes), digest]))
words("adapter", list(adapter) + ["lora_A.weight", "lora_B.weight", "lora_magnitude_vector", "base_layer", "use_dora", "dtype", "shape"])

words("folder", sorted(known) + ["weight_map", "dtype", "shape", "data_offsets", "quantization_config", "auto_map"])
