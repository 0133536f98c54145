"""Compiled inner loops: functions of arrays and scalars, one file per closed call graph."""
