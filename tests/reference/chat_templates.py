# Writes tests/dataloader/chat/rendered.json: what transformers makes of the templates beside it,
# of conversations with and without tools, and the bytes between its {% generation %} tags.
#
# Usage: python tests/reference/chat_templates.py [TREE]   (transformers 5, jinja2 3.1)
import datetime
import json
import pathlib
import sys

from transformers.utils import chat_template_utils

DAY = (2026, 1, 2)


class Today(datetime.datetime):
    @classmethod
    def now(cls, *zone):
        return cls(*DAY)


def message(role, content, **more):
    return {"role": role, "content": content, **more}


def call(arguments, number="call00001", name="weather"):
    return {"id": number, "type": "function",
            "function": {"name": name, "arguments": arguments}}


TOOLS = [
    {"type": "function", "function": {
        "name": "weather", "description": "The weather <now> & here, in °C",
        "parameters": {"type": "object", "properties": {
            "city": {"type": "string", "description": "a city"},
            "unit": {"type": "string", "enum": ["c", "f"]},
            "days": {"type": ["integer", "null"], "default": 3}}, "required": ["city"]}}},
    {"type": "function", "function": {
        "name": "sum", "description": "Adds",
        "parameters": {"type": "object", "properties": {
            "numbers": {"type": "array", "items": {"type": "number"}}},
            "required": ["numbers"]}}},
]
CONVERSATIONS = {
    "turns": [message("user", "  Hi, wörld <&> "), message("assistant", "Hello \"you\"\n"),
              message("user", "And 2 + 2?"), message("assistant", "4")],
    "question": [message("user", "Hi")],
    "system": [message("system", "Be brief. "), message("user", "Hi"),
               message("assistant", "Hello"), message("user", "Bye")],
    "thinking": [message("user", "2+2?"), message("assistant", "<think>\nfour\n</think>\n\n4"),
                 message("user", "3+3?"), message("assistant", "6", reasoning_content="two threes")],
    "tools": [message("system", "S"), message("user", "Weather?"),
              message("assistant", None, tool_calls=[call({"unit": "c", "city": "Zürich"})]),
              message("tool", "{\"t\": 20.5}", name="weather", tool_call_id="call00001"),
              message("assistant", "20.5 degrees"), message("user", "Thanks")],
    "blocks": [message("user", [{"type": "image"}, {"type": "text", "text": "what is it? "}]),
               message("assistant", [{"type": "text", "text": "a cat"}])],
    "disorder": [message("user", "a"), message("user", "b"), message("stranger", "c")],
    "nothing": [],
}
VARIANTS = [
    {"add_generation_prompt": False},
    {"add_generation_prompt": True, "variables": {"enable_thinking": False}},
    {"add_generation_prompt": False, "variables": {
        "tools": TOOLS, "documents": [{"title": "T", "text": "a text"}]}},
]


def rendered(text, messages, variant):
    variables = {"bos_token": "<s>", "eos_token": "</s>", **variant.get("variables", {})}
    tools, documents = variables.pop("tools", None), variables.pop("documents", None)
    try:
        normal = chat_template_utils._normalize_chat_messages(messages)
        texts, places = chat_template_utils.render_jinja_template(
            [normal], tools=tools, documents=documents, chat_template=text,
            return_assistant_tokens_mask=True,
            add_generation_prompt=variant["add_generation_prompt"], **variables)
    except Exception:
        return None
    return [texts[0], [[len(texts[0][:end].encode()) for end in span] for span in places[0]]]


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder = tree / "tests/dataloader/chat"
    chat_template_utils.datetime = Today
    templates = {}
    for path in sorted((folder / "templates").glob("*.jinja")):
        text = path.read_text()
        templates[path.stem] = {name: [rendered(text, messages, v) for v in VARIANTS]
                                for name, messages in CONVERSATIONS.items()}
    whole = {"conversations": CONVERSATIONS, "variants": VARIANTS, "rendered": templates}
    (folder / "rendered.json").write_text(json.dumps(whole, ensure_ascii=False, indent=0) + "\n")
    count = [r for t in templates.values() for rows in t.values() for r in rows]
    print(len(templates), "templates,", len(count), "renderings,", count.count(None), "refused")


main()
