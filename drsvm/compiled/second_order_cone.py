"""Arithmetic of the second-order cone {v : v₀ ≥ ‖(v₁, …)‖}.

`size` is the number of entries of the vectors.

References
----------
Y. E. Nesterov, M. J. Todd, Primal-dual interior-point methods for self-scaled cones,
SIAM Journal on Optimization 8(2), 1998; in this form L. Vandenberghe, The CVXOPT linear
and quadratic cone program solvers, 2010.
"""

import math

from drsvm.compiled.decorators import FAST, compiled


@compiled(fastmath=FAST, inner=True)
def inner(a, b, size):
    """Return a·b without the first entries."""
    total = 0.0
    for j in range(1, size):
        total += a[j] * b[j]
    return total


@compiled(inner=True)
def determinant(v, size):
    """Return v₀² − ‖v₁‖², without cancellation of squares."""
    length = math.sqrt(inner(v, v, size))
    return (v[0] - length) * (v[0] + length)


@compiled(inner=True)
def set_scaling_point(slacks, duals, point):
    """Write the scaling point of Nesterov and Todd.

    Return the square of the factor of the scaling.
    """
    size = point.size
    root_x = math.sqrt(determinant(slacks, size))
    root_z = math.sqrt(determinant(duals, size))
    both = (slacks[0] * duals[0] + inner(slacks, duals, size)) / (root_x * root_z)
    unit = 1.0 / math.sqrt(2.0 * (1.0 + both))
    point[0] = unit * (slacks[0] / root_x + duals[0] / root_z)
    for j in range(1, size):
        point[j] = unit * (slacks[j] / root_x - duals[j] / root_z)
    return root_x / root_z


@compiled(inner=True)
def transform(point, stretch, v, sign, out):
    """Apply the scaling of a point and a factor (sign 1), or its inverse (sign −1)."""
    size = point.size
    factor = stretch
    if sign < 0.0:
        factor = 1.0 / stretch
    product = inner(point, v, size)
    along = product / (1.0 + point[0]) + sign * v[0]
    out[0] = factor * (point[0] * v[0] + sign * product)
    for j in range(1, size):
        out[j] = factor * (v[j] + along * point[j])


@compiled(inner=True)
def rate(x, dx, size):
    """Return 1/t for the longest t with x + t·dx in the cone; 0 without a limit."""
    # dx in the frame in which x is the unit (1, 0, …): there the limit is the norm of
    # the tail minus the head
    root = math.sqrt(determinant(x, size))
    head = (x[0] * dx[0] - inner(x, dx, size)) / root
    along = (head + dx[0]) / (1.0 + x[0] / root) / root
    square = 0.0
    for j in range(1, size):
        tail = dx[j] - along * x[j]
        square += tail * tail
    return (math.sqrt(square) - head) / root
