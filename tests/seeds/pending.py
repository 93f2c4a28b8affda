"""Tests that must fail until a piece of work is there: name -> the piece. A test that passes while
it is named here is a failure, so that no name stays."""

PENDING = {}
