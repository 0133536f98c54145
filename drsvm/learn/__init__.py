"""The scikit-learn interface: estimators, cross-validation, one-vs-rest, and the rule for the radius."""
