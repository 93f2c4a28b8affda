#!/bin/sh
# What the five documents of docs/seeds.md state about configurations, a test a statement.
set -eu
: "${CSENGINE_EXECUTABLE:?}"
PYTHONDONTWRITEBYTECODE=1 "${PYTHON:-python3}" "${top_srcdir:-.}/tests/seeds/run.py" yaml
