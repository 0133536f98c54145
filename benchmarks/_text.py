"""Text-like data: rows of TF-IDF weights of words whose frequencies follow Zipf's law,
in two overlapping topics.
"""

import numpy as np
from scipy import sparse

EXPONENT = 1.07
OFFSET = 2.7
"""Zipf–Mandelbrot: the frequency of the word of rank r is proportional to (r +
OFFSET)^−EXPONENT.
"""

TOPIC_WORDS = 0.05
TILT = 1.0
"""Share of the words that belong to a topic, and the factor (e^TILT) by which its
documents use them more often.
"""


def text_like(n: int, d: int, words: float = 80.0, noise: float = 0.05, seed: int = 0):
    """Return n unit-norm TF-IDF rows over d words, about `words` of them nonzero in
    each, and labels in {−1, 1}.

    Every document belongs to one of two topics. A topic prefers some words; most words
    are common to both. A share `noise` of the labels is wrong.
    """
    rng = np.random.default_rng(seed)
    frequency = (np.arange(d) + OFFSET) ** -EXPONENT
    topics = [_tilted(frequency, rng) for _ in range(2)]
    labels = rng.integers(0, 2, n)
    counts = sparse.vstack(
        [
            _counts(topics[label], (labels == label).sum(), words, rng)
            for label in (0, 1)
        ]
    ).tocsr()
    X = _tf_idf(counts)[np.argsort(np.argsort(labels, kind="stable"), kind="stable")]
    y = 2 * labels - 1
    y[rng.random(n) < noise] *= -1
    return X, y


def _tilted(frequency, rng) -> np.ndarray:
    chosen = rng.random(frequency.size) < TOPIC_WORDS
    tilted = frequency * np.where(chosen, np.exp(TILT), 1.0)
    return np.cumsum(tilted / tilted.sum())


def _counts(cumulated, n: int, words: float, rng) -> sparse.csr_array:
    """Draw documents of roughly log-normal length.

    Frequent words repeat, so more than `words` are drawn.
    """
    d = cumulated.size
    lengths = np.maximum(
        rng.lognormal(np.log(1.22 * words), 0.4, n).astype(np.int64), 3
    )
    drawn = np.minimum(
        np.searchsorted(cumulated, rng.random(lengths.sum())), d - 1
    ).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    counts = sparse.csr_array((np.ones(drawn.size), drawn, indptr), shape=(n, d))
    counts.sum_duplicates()
    return counts


def _tf_idf(counts: sparse.csr_array) -> sparse.csr_array:
    n = counts.shape[0]
    document_frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    X = counts.copy()
    X.data = (1.0 + np.log(X.data)) * (
        np.log((1.0 + n) / (1.0 + document_frequency)) + 1.0
    )[X.indices]
    squares = np.add.reduceat(X.data**2, X.indptr[:-1])
    X.data /= np.repeat(np.sqrt(squares), np.diff(X.indptr))
    return X
