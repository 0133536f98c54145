"""When a run of epochs computes certificates."""

import math

FIRST_RATIO, FIRST_PROOF, REGULAR_PROOF = 0.5, 16, 32
"""Initial guess of gap / estimate, and the maximum number of epochs before the first certificate and between later
ones, regardless of the estimate."""


class Proofs:
    """Decides when to compute a certificate, which costs about as much as an epoch: when it is likely to succeed."""

    def __init__(self, tol: float):
        self.tol, self.ratio, self.next = tol, FIRST_RATIO, FIRST_PROOF

    def expected_gap(self, estimate: float) -> float:
        """Return the gap that a certificate is expected to prove, given its estimate."""
        return self.ratio * estimate

    def promising(self, estimate: float) -> bool:
        """Return whether the gap is expected to be within the tolerance."""
        return self.expected_gap(estimate) <= self.tol

    def due(self, epoch: int, estimate: float) -> bool:
        """Return whether a certificate is due."""
        return self.promising(estimate) or epoch >= self.next

    def learn(self, epoch: int, estimate: float, gap: float) -> None:
        """Update the ratio from an estimate and the proven gap, and schedule the next certificate."""
        if math.isfinite(estimate) and estimate > 0.0:
            self.ratio = min(max(gap / estimate, 0.1), 100.0)
        self.next = epoch + min(epoch, REGULAR_PROOF)
