"""Names that would do harm if they were not escaped."""

NASTY = "<script>alert('&')</script>"
