"""What a result of generation_rates.py holds, in the notation of performance_schema.py."""

from performance_schema import faults_of

FORMAT = 1
NUMBER = (int, float)
# Of all prompts, and of a pass over a token of each text: what went by, and of the processors.
ENTRY = {
    "prompt_ms": NUMBER,
    "prompt_processor_ms": NUMBER,
    "pass_ms": NUMBER,
    "pass_processor_ms": NUMBER,
    "low_ms": NUMBER,
    "high_ms": NUMBER,
}
# Of the texts of another program: in how many all tokens are ours, and where the first one differs.
TOKENS = {"texts": int, "equal": int, "first_text": (int, None), "first_token": (int, None)}
ROW = {
    "model": str,
    "packing": str,
    "megabytes": NUMBER,  # of the weights that a pass reads
    "texts": int,
    "threads": int,
    "entries": {str: ENTRY},
    "tokens": {str: TOKENS},
}
RESULT = {
    "format": int,
    "machine": {"processor": str, "cores": int, "load": NUMBER},
    "versions": {str: (str, None)},
    "prompt_tokens": int,
    "new_tokens": int,
    "rounds": int,
    "memory": {str: {"read": NUMBER, "copy": NUMBER}},  # by threads, GB/s
    "rows": [ROW],
    "failures": {str: str},
}


def faults(document):
    found = faults_of(document, RESULT, "document")
    if not found and document["format"] != FORMAT:
        found = [f"document.format: {document['format']}, this program reads {FORMAT}"]
    return found
