"""What a result of performance.py holds: names and types, in the notation

{"name": type}       an object with these members, each of them there, and no others
[type]               a list of them
(type, ...)          one of these; None among them: may be null
{str: type}          an object with any names
"""

FORMAT = 1
AS_INSTALLED = ", as installed"  # ends the name of an entry of PyTorch without its fast path
NUMBER = (int, float)
MEMORY = (
    {
        "pss_mb": NUMBER,
        "pss_anon_mb": NUMBER,
        "pss_file_mb": NUMBER,
        "pss_shmem_mb": NUMBER,
        "processes": int,
        "roles_mb": {str: NUMBER},
    },
    None,
)
ENTRY = {"name": str, "ms": NUMBER, "low_ms": NUMBER, "high_ms": NUMBER, "rounds": int}
LOSSES = {
    "steps": int,
    "first_ours": NUMBER,
    "first_theirs": NUMBER,
    "last_ours": NUMBER,
    "last_theirs": NUMBER,
    "first_tolerance": NUMBER,
    "last_tolerance": NUMBER,
}
PLAN = {"workspace_bytes": int, "lower_bound_bytes": int, "space_bytes": {str: int}}
ROW = {
    "row": str,
    "what": str,
    "precision": str,
    "cores": int,
    "losses": {str: LOSSES},
    "entries": [dict(ENTRY, memory=MEMORY)],
    "ratio": (int, float, None),
}
BOTH_ROW = dict(ROW, ratio_as_installed=(int, float, None))
RATES = {
    "ours": NUMBER,
    "ours_share": NUMBER,
    "onednn": NUMBER,
    "onednn_share": NUMBER,
    "implementation": str,
}
PRODUCT = {
    "work": str,
    "product": str,
    "pass": str,
    "batches": int,
    "m": int,
    "n": int,
    "k": int,
    "transpose_a": int,
    "transpose_b": int,
    "times": int,
}
TORCH_RATES = dict(RATES, torch=NUMBER)
BOTH_RATES = dict(TORCH_RATES, torch_as_installed=NUMBER)
PEAKS = {"float32": NUMBER, "bfloat16": NUMBER}


def products_with(rates, **more):
    products = [dict(PRODUCT, float32=rates, bfloat16=rates)]
    return dict(more, rounds=int, peaks=PEAKS, products=products)


KERNEL = {
    "kernel": int,
    "alike": int,
    "part": str,
    "ops": str,
    "scope": str,
    "backward": bool,
    "calls": int,
    "ms": NUMBER,
    "share": NUMBER,
    "class": str,
    "implementation": str,
    "sizes": str,
    "flop": NUMBER,
    "bytes": NUMBER,
    "gflop_per_second": NUMBER,
    "gb_per_second": NUMBER,
    "flop_per_byte": NUMBER,
    "limited_by": str,
    "limit_ms": NUMBER,
    "limit_gflop_per_second": NUMBER,
    "share_of_limit": NUMBER,
}
ROOFLINE = {
    "limits": {
        "gflop_per_second": {str: NUMBER},
        "read_gb_per_second": {str: NUMBER},
        "triad_gb_per_second": NUMBER,
    },
    "kernels": [KERNEL],
    "class_ms": {str: NUMBER},
    "kernels_ms": NUMBER,
    "step_ms": NUMBER,
    "product_flop": NUMBER,
    "step_over_products": NUMBER,
    "step_over_products_at_peak": NUMBER,
    "update_ms": NUMBER,
    "update_gb_per_second": NUMBER,
}
DOCUMENT = {
    "format": int,
    "date": str,
    "quick": bool,
    "rounds": int,
    "seconds": NUMBER,
    "machine": {
        "cpu": str,
        "family": (str, None),
        "model": (str, None),
        "cores": int,
        "instruction_sets": [str],
        "caches": {str: str},
        "memory_gb": NUMBER,
        "system": str,
        "load_at_start": NUMBER,
    },
    "versions": {
        "csengine": (str, None),
        "torch": (str, None),
        "python": str,
        "compiler": (str, None),
    },
    "steps": [(ROW, dict(ROW, plan=PLAN), BOTH_ROW, dict(BOTH_ROW, plan=PLAN))],
    "scaling": [
        {
            "row": str,
            "what": str,
            "precision": str,
            "entries": [ENTRY],
            "times_faster": NUMBER,
            "machine_times_faster": NUMBER,
        }
    ],
    "compile": ([{"layers": int, "cold_s": NUMBER, "cached_s": NUMBER, "c_bytes": int}], None),
    "products": (
        products_with(RATES),
        products_with(TORCH_RATES, torch=str),
        products_with(BOTH_RATES, torch=str),
        None,
    ),
    "roofline": ({str: ROOFLINE}, None),
    "failures": {str: str},
    "left_out": [str],
}


def faults_of(value, schema, place):
    """One text for each place that is not as the schema says."""
    if isinstance(schema, tuple):
        tried = [faults_of(value, one, place) for one in schema]
        return [] if [] in tried else min(tried, key=len)
    if schema is None:
        return [] if value is None else [f"{place}: not null"]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{place}: not a list"]
        return [
            fault
            for at, one in enumerate(value)
            for fault in faults_of(one, schema[0], f"{place}[{at}]")
        ]
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return [f"{place}: not an object"]
        if str in schema:
            return [
                fault
                for name, one in value.items()
                for fault in faults_of(one, schema[str], f"{place}.{name}")
            ]
        found = [f"{place}.{name}: missing" for name in schema if name not in value]
        found += [f"{place}.{name}: not known" for name in value if name not in schema]
        return found + [
            fault
            for name in schema
            if name in value
            for fault in faults_of(value[name], schema[name], f"{place}.{name}")
        ]
    fits = isinstance(value, schema) and (schema is bool or not isinstance(value, bool))
    return [] if fits else [f"{place}: {value!r} is not of type {schema.__name__}"]


def faults(document):
    """What is wrong with a result; nothing for a good one."""
    found = faults_of(document, DOCUMENT, "document")
    if not found and document["format"] != FORMAT:
        found = [f"document.format: {document['format']}, this program reads {FORMAT}"]
    return found
