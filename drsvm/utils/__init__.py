"""Small helpers that know nothing of support vector machines."""
