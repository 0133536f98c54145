"""The mathematics of one problem: data and parameters, norms, risk, certificate, proximal step and worst case."""
