"""When a run of epochs takes a certificate: when it is likely to succeed."""

import math

FIRST_RATIO, FIRST_PROOF, REGULAR_PROOF = 0.5, 16, 32
"""First guess at gap over estimate, and the number of epochs after which a certificate is due whatever the estimate."""


class Proofs:
    """When to take a certificate, which costs about as much as an epoch: when it is likely to succeed."""

    def __init__(self, tol: float):
        self.tol, self.ratio, self.next = tol, FIRST_RATIO, FIRST_PROOF

    def expected_gap(self, estimate: float) -> float:
        """Return the gap that a certificate would prove, to judge by its estimate."""
        return self.ratio * estimate

    def promising(self, estimate: float) -> bool:
        """Say whether the gap will be small enough."""
        return self.expected_gap(estimate) <= self.tol

    def due(self, epoch: int, estimate: float) -> bool:
        """Say whether a certificate is due."""
        return self.promising(estimate) or epoch >= self.next

    def learn(self, epoch: int, estimate: float, gap: float) -> None:
        """Compare an estimate with the proven gap."""
        if math.isfinite(estimate) and estimate > 0.0:
            self.ratio = min(max(gap / estimate, 0.1), 100.0)
        self.next = epoch + min(epoch, REGULAR_PROOF)
