"""scikit-learn's side: estimators, cross-validation, one-against-rest, and the rule for the radius."""
