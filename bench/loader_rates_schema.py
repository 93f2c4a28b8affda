"""What a result of loader_rates.py holds, in the notation of performance_schema.py."""

from performance_schema import DOCUMENT as PERFORMANCE, NUMBER, faults_of

FORMAT = 1
ENTRY = {
    "name": str,
    "workers": str,
    "samples_per_second": NUMBER,
    "processor_us": NUMBER,
    "open_seconds": NUMBER,
}
ROW = {
    "row": str,
    "what": str,
    "batch": int,
    "load": NUMBER,
    "missing": {str: str},
    "differences": {str: NUMBER},
    "tried": [{"name": str, "workers": str, "samples_per_second": NUMBER}],
    "ours": ENTRY,
    "theirs": [ENTRY],
    "ratio": NUMBER,
    "ratio_range": [NUMBER],
    "processor_ratio": NUMBER,
    "processor_ratio_range": [NUMBER],
}
DOCUMENT = {
    "format": int,
    "date": str,
    "quick": bool,
    "rounds": int,
    "seconds": NUMBER,
    "machine": PERFORMANCE["machine"],
    "versions": {"csengine": str, "python": str, "libraries": [{str: str}]},
    "rows": [ROW],
    "failures": {str: str},
}


def faults(document):
    """What is wrong with a result; nothing for a good one."""
    found = faults_of(document, DOCUMENT, "document")
    if not found and document["format"] != FORMAT:
        found = [f"document.format: {document['format']}, this program reads {FORMAT}"]
    return found
