"""Audits of any linear or kernel classifier, also of other libraries.

Worst case within a ball: `worst_case` (the risk) and `worst_distribution` rest on the
`adversary` of linear classifiers, its bound for kernels (`kernel_adversary`),
`error_costs`, and `confidence` for the population; `group_risks` are those of groups.
`model_layers`, `decision_values` and `class_codes` read a given model.

New data: `explanation` of single rows with `column_sources`; `shift` of rows by the
`movement` of their signed distances (`audit_sample`) and by `column_shifts`; `batches`.

Rows with labels: `performance`, with `intervals` of its figures; `precision` tells
which decision values are noise.

Labels to check: `label_issues`, from the `label_scores` of classifiers in folds, with
`curved_judges` where these rank labels better, and `label_reasons`.

Words: the code of a label is its place among the classes; the lead of a class over
another is the difference of their decision values (the margin is that of the label over
the best other class), and the lead of a classifier that of its figures; a rate is by
how much a lead changes at most if a row is shifted at a cost of 1.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# `as` marks what is public; the rest is for other folders and for tests.
if TYPE_CHECKING:
    from drsvm.audit.batches import BatchShifts as BatchShifts
    from drsvm.audit.batches import radius_from_batches as radius_from_batches
    from drsvm.audit.column_shifts import summaries
    from drsvm.audit.confidence import band, limits_of_means
    from drsvm.audit.decision_values import decision_functions
    from drsvm.audit.explanation import Explanation as Explanation
    from drsvm.audit.explanation import explain as explain
    from drsvm.audit.group_risks import GroupRisks as GroupRisks
    from drsvm.audit.intervals import (
        Z,
        auc_interval,
        lead_in_rates,
        mean_interval,
        rate_interval,
    )
    from drsvm.audit.label_issues import find_label_issues as find_label_issues
    from drsvm.audit.label_issues import robust_classifier
    from drsvm.audit.label_scores import LabelIssues as LabelIssues
    from drsvm.audit.label_scores import flagged, judge
    from drsvm.audit.model_layers import (
        final_classifier,
        last_step,
        threshold_around,
        transformed,
    )
    from drsvm.audit.movement import Pooled, by_chance, expected_errors
    from drsvm.audit.performance import by_class, compared, leads, scores, summary
    from drsvm.audit.precision import (
        are_noise,
        column_deviations,
        resolution,
        weights_that_count,
    )
    from drsvm.audit.shift import Shift as Shift
    from drsvm.audit.shift import measure_shift as measure_shift
    from drsvm.audit.worst_case import DEFAULT_BALL
    from drsvm.audit.worst_case import certified_accuracy as certified_accuracy
    from drsvm.audit.worst_case import certified_scorer as certified_scorer
    from drsvm.audit.worst_case import worst_case_risk as worst_case_risk
    from drsvm.audit.worst_distribution import (
        WorstCaseDistribution as WorstCaseDistribution,
    )
    from drsvm.audit.worst_distribution import (
        worst_case_distribution as worst_case_distribution,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
