"""GS-ADMM, the paper's baseline."""
