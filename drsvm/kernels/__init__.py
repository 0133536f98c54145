"""Compiled inner loops: functions of arrays and scalars."""
