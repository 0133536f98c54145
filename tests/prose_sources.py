"""What backs the figures in prose that neither a block of their page nor a long number in a result does.

For each page: words of a sentence with the figures, a file and the row in it that has
them (a result of a benchmark, or the constant in the source), or else the reason why
nothing can.
"""

CONSTANTS = "constants.md"
GPU = "scale-gpu.md"
DASK = "scale-dask.md"
TEXT = "highdim-small-q2.md"
TEXT_GPU = "scale-gpu-text.md"
MACHINES = "simulated_machines.md"
STUDY = "study-choices.md"
TABLES = "new_data-tables.md"
BEHIND = "## 400 training rows > | method | behind"
REPORTED = "## 400 training rows > ### 8 reporting > "
SVC = " > | WassersteinSVC() |"
ACCURACY = REPORTED + "Accuracy, gain over LinearSVC" + SVC
KERNELS = REPORTED + "Accuracy, gain over LinearSVC > | "
ALL_20 = "### All 20 data sets > "
EXAMPLE = "an example"
VERSION = "a version"
PAPER = "the year of the paper"

BACKING: dict[str, list[tuple[str, str] | tuple[str, str, str]]] = {
    "README.md": [
        ("| 7.1 |", "cost.md", "| 10,000,000 |"),
        (
            "1.3 times the time of LinearSVC (geometric mean of 32 settings), at most 2.5",
            "highdim-small-q2.md",
            "Gap 1e-05",
        ),
        ("1.00 times, at most 2.0", TEXT, "Gap 0.001"),
        ("3.11", VERSION),
        ("0.05 to", "speed-polyhedral.md", "ijcnn1, q = ∞, c = 0"),
        ("0.07; the fastest", "speed-euclidean.md", "ijcnn1, q = 2, c = 1"),
        ("takes 12 to", "speed-polyhedral.md", "smallest 11.6"),
        ("57 times as long", "speed-euclidean.md", "largest 57.4"),
        (
            "0.7; 16 cores of the same machine take 38 times",
            GPU,
            "2,000,000 × 1,000 float64",
        ),
        ("standard errors 0.4 to 1.6", STUDY, ACCURACY),
        ("1 of 90 cells", STUDY, BEHIND + " > | WassersteinSVC()"),
        (
            "+2.7 / +2.0 / +1.6 / +2.7 points",
            STUDY,
            KERNELS + "WassersteinKernelSVC() |",
        ),
        (
            "random forest +4.4 / +1.7 / −4.6 / −7.9",
            STUDY,
            KERNELS + "RandomForestClassifier() |",
        ),
        (
            "boosted trees +4.5 / −1.7 / −9.2 / −6.5",
            STUDY,
            KERNELS + "HistGradientBoostingClassifier() |",
        ),
        ("standard errors 0.9", STUDY, KERNELS + "WassersteinKernelSVC() |"),
        ("to 2.6) |", STUDY, KERNELS + "HistGradientBoostingClassifier() |"),
        ("10 / 20 / 35 % wrong labels", "the rows of the summary in labels.md"),
        ("+0.7 /", "labels.md", "| 10% |"),
        ("+1.0 /", "labels.md", "| 20% |"),
        ("+2.5 points (standard errors 0.3", "labels.md", "| 35% |"),
        ("standard errors 0.3", "labels.md", "| 10% |"),
        ("to 1.3) |", "labels.md", "| 35% |"),
        ("off by 3.2 points", TABLES, "| in time order"),
        (
            "before 3.8, estimates from probabilities 3.7 to 4.4",
            TABLES,
            "| in time order",
        ),
        ("exceeded in 0.3 %", TABLES, "bound exceeded > | in time order"),
        (
            "ten tables in time order",
            "the tables of new_data-tables.md without the two that are shuffled",
        ),
        ("2020", PAPER),
    ],
    "beyond_the_paper.rst": [
        ("A worker that is 10 times slower", "many_machines.md", "one 10 times slower"),
        (
            "of 16 is 10 times slower, not waiting for it takes 27.2 s",
            "simulated_machines.md",
            "| 2 | 16 | one 10 times",
        ),
        ("78.6 s", MACHINES, "| 2 | 16 | the same, waiting for it"),
        ("9.01 s", MACHINES, "| 2 | 16 | equal"),
    ],
    "choosing.rst": [
        (
            "on ten tables in time order",
            "the tables of new_data-radius.md without the two that are shuffled",
        ),
        ("with the median movement to 20.9 %", "new_data-radius.md", "| in time order"),
        ("from 71.9 to 61.4 and 64.6 %", "new_data-radius.md", "| in time order"),
        ("fixed on twelve data sets", STUDY, "12 deciding data sets"),
        (
            "at least 0.3 of the weight",
            "half of MIN_SHARE, the share of an equal weight",
        ),
        ("−0.34 points on average, and by −3.2 at worst", "probability.md", "| all |"),
        ("With up to 5,000 rows", CONSTANTS, "`FEW_ROWS`"),
        ("more than 500 features", "drsvm/solvers/leave_one_out.py", "MAX_FEATURES ="),
        (
            "between 0.95 and 1.05",
            "the width over which drsvm/defaults/radius_rule.py counts margins in part",
        ),
        ("From 60 rows on", CONSTANTS, "`MIN_ROWS`"),
        ("shares of 0.3", CONSTANTS, "`SHARES` | choosing.evidence | 0.3"),
        ("and 0.03 are tried", CONSTANTS, "`SHARES` | choosing.evidence | 0.03"),
        ("At most 1,500 rows", CONSTANTS, "`MAX_ROWS` | choosing"),
        ("tries 3.3", CONSTANTS, "`FACTORS` | kernel.problems | 3.3"),
        ("10 times its smallest γ", CONSTANTS, "`FACTORS` | kernel.problems | 10"),
        ("and 0.3 of the ball", CONSTANTS, "`SHARES` | choosing.evidence | 0.3"),
        ("If 35 % of the labels are wrong, a difference of ten points", EXAMPLE),
        ("1 − 2 · 0.35", EXAMPLE),
    ],
    "cluster_and_gpu.rst": [
        (
            "more than 5000 features",
            "drsvm/solvers/selection.py",
            "system_size(problem) <=",
        ),
        ("takes 0.0464 s, compared with 0.0269 s", DASK, "| 400,000 |"),
        (
            "took 14 iterations and 90.5 s on two workers of the same machine, with 5.30 GB",
            DASK,
            "| 50,000,000 × 20",
        ),
        (
            "up to 130 bytes per row",
            "drsvm/engines/dask/dask_coordinator.py",
            "bytes per row",
        ),
        ("above 80 % memory", "a default of Dask"),
        ("CUDA 13", VERSION),
        (
            "about 160 bytes per row",
            "drsvm/engines/gpu/gpu_backend.py",
            "STATE_BYTES =",
        ),
        ("- 0.687 s - 26.2 s", GPU, "2,000,000 × 1,000 float64"),
        ("- 0.590 s", GPU, "2,000,000 × 1,000 float32"),
        ("- 0.245 s", GPU, "10,000,000 × 100"),
        ("- 0.197 s - 4.47 s", GPU, "| 1,000,000 × 2,000"),
        (
            "takes 4.3 ms, and the Gram matrix 74.4 ms, or 28.9 ms",
            GPU,
            "| products > 2,000,000 × 1,000 float64",
        ),
        ("a fit takes 14 iterations", GPU, "2,000,000 × 1,000 float64"),
        (
            "more than 10,000 features",
            "drsvm/engines/gpu/gpu_engine.py",
            "MAX_FEATURES =",
        ),
        ("take 15.4 s", TEXT_GPU, "card, interior point | 847,000"),
        ("takes 2.77 s", TEXT_GPU, "card, interior point | 84,700"),
        ("5.40 s", TEXT_GPU, "16 cores, auto"),
        ("takes 4.34 s", TEXT_GPU, "LinearSVC, hinge loss"),
    ],
    "command_line.rst": [
        ("130 interrupted", "drsvm/cli/screen.py", "interrupted; nothing was written"),
        ("Python 3.14", VERSION),
        ("at most 16 MB", "LONGEST_LINE in drsvm/tables/files.py is in bytes"),
        ("the comma in 1,234 or the dot in 1.234", EXAMPLE),
        (
            "fewer than five rows",
            "the rule is a formula in drsvm/tables/preparation.py",
        ),
        ("the 1,000 most frequent ones", "drsvm/tables/preparation.py", "MAX_LEVELS ="),
        ("at least 5 % of a column", "drsvm/tables/kinds.py", "FREQUENT_GAPS ="),
        ("More than 200 levels", "drsvm/tables/reading.py", "MANY_LEVELS ="),
        ("up to 100 times the proven gap", "a factor in drsvm/estimators"),
        ("in 20 times more pairs", "drsvm/tables/copies.py", "CLEARLY_MORE ="),
        ("fewer than eight rows", "drsvm/cli/tasks.py", "MIN_CLASS_ROWS ="),
        ("12 candidates", "six radii times two ridges"),
        ("since 1970", "the origin of Unix time"),
        ("more than 20,000 rows", "drsvm/cli/kernel_choice.py", "MAX_ROWS ="),
        ("up to 1,000 test rows", CONSTANTS, "`MAX_ROWS` | importances"),
        ("up to 100 columns", CONSTANTS, "`MAX_COLUMNS`"),
        ("more than 50 times its size", "drsvm/persistence/checks.py", "RATIO ="),
        ("more than 64 MB", "drsvm/persistence/checks.py", "SMALL ="),
    ],
    "constants.rst": [
        ("the twelve data sets", STUDY, "12 deciding data sets"),
        ("the eight data sets", STUDY, "8 reporting data sets"),
    ],
    "extending.rst": [
        ("the three rounds of an iteration", "drsvm/engines/engine.py describes them")
    ],
    "incremental.rst": [
        (
            "a factor of 1000",
            "the inverse of SPAN in drsvm/solvers/paper/incremental/step_sizes.py",
        ),
        (
            "in 40 epochs, then again in three times",
            "drsvm/solvers/paper/incremental/step_sizes.py",
            "SHORTEST =",
        ),
    ],
    "index.rst": [
        (
            "take 0.672 s on two cores, to a proven gap of 1.6e-07",
            "cost.md",
            "| 1,000,000 |",
        )
    ],
    "install.rst": [
        ("numpy (2.0), scipy (1.15), numba (0.61) and scikit-learn (1.6)", VERSION),
        ("3.11", VERSION),
        ("CUDA 13", VERSION),
        ("about 8 s", "first_fit.md", "500 × 20, dense; cache empty"),
    ],
    "interior_point.rst": [
        (
            "a fraction 0.98",
            "drsvm/solvers/interior_point/interior_point_solver.py",
            "step_fraction:",
        ),
        (
            "three passes over the rows",
            "the three rounds that drsvm/engines/engine.py describes",
        ),
    ],
    "kernels.rst": [
        ("tuned over 15 settings", "three values of C times five of γ"),
        ("3.3 or", CONSTANTS, "`FACTORS` | kernel.problems | 3.3"),
        ("10 times that", CONSTANTS, "`FACTORS` | kernel.problems | 10"),
        ("0.25·a⁴/√n", CONSTANTS, "`KERNEL_RIDGE`"),
        (
            "0.4 to 0.8 points lower",
            STUDY,
            REPORTED + "Accuracy, gain over SVC > | WassersteinKernelSVC() |",
        ),
        (
            "3,000 rows take 1.80 times",
            "kernel.md",
            "| ijcnn1, 3,000 rows | WassersteinKernelSVC |",
        ),
        (
            "and 2.02 times",
            "kernel.md",
            "| spambase, 3,000 rows | WassersteinKernelSVC |",
        ),
        (
            "take 0.349 times",
            "kernel.md",
            "| ijcnn1, 20,000 rows | WassersteinKernelSVC |",
        ),
        ("take 1.10 s to a proven gap of 6.6e-05", "kernel-gpu.md", "| the defaults |"),
        ("19.5 s to 3.2e-04", "kernel-gpu.md", "| curved, 1,000,000 rows"),
    ],
    "labels.rst": [
        ("among the deepest 60 %", CONSTANTS, "`CORE`"),
        ("explain at least 60 %", CONSTANTS, "`CORE`"),
        ("the 99 % interval", CONSTANTS, "`LEVEL` | labels.noise"),
        ("+0.7 ± 0.3 +1.8 ± 1.2", "labels.md", "| 10% |"),
        ("+1.0 ± 0.4 +2.5 ± 1.0", "labels.md", "| 20% |"),
        ("+2.5 ± 1.3 +4.5 ± 2.2", "labels.md", "| 35% |"),
        (
            "one of 60 tables with correct labels gets a number, and at least 40 of 60 with",
            "asserted by the test",
        ),
        (
            "at least 30 of these numbers",
            "tests/defaults/test_label_noise.py",
            "assert false <= 1",
        ),
    ],
    "large_data.rst": [
        ("32 bits", "the size of an integer"),
        ("from 200,000 rows", "drsvm/tables/streamed_tables.py", "SAMPLE_ROWS ="),
        ("123 to", "larger_than_memory.md", "| memory-mapped"),
        ("127 bytes per row", "larger_than_memory.md", "| Parquet"),
        ("take 16 bytes per row", "two doubles"),
    ],
    "new_data.rst": [
        ("above the truth by 0.0365", "new_data-coverage.md", "| all |"),
        ("was 3.2 points for", TABLES, "| in time order"),
        ("3.8 for the error before", TABLES, "| in time order"),
        (
            "3.9 (CBPE), 3.7 (difference of confidences) and 4.4",
            TABLES,
            "| in time order",
        ),
        ("it was 3.7, 4.7, 4.8, 4.5 and 5.0", TABLES, "| of them, moved"),
        ("otherwise 2.7, 2.8, 2.9, 2.7 and 3.7", TABLES, "| moved < 0.15"),
        ("such as electricity (4.4 instead of 6.7)", TABLES, "| electricity"),
        ("bikes 4.9 against 4.1", TABLES, "| bikes"),
        ("trading 2.8 against 2.4", TABLES, "| trading"),
        ("(3.6 against 4.5)", TABLES, "| exhaust"),
        ("too low, by 1.3", TABLES, "| in time order"),
        ("exceeded in 0.3 %", TABLES, "bound exceeded > | in time order"),
        ("(bikes 2.9 %)", TABLES, "bound exceeded > | bikes"),
        ("its median was 0.452", TABLES, "bound exceeded > | in time order"),
        ("true errors of 18.7 %", TABLES, "| moved < 0.15"),
        ("above chance in 3.8 to", "new_data-batches.md", "| four classes | 100"),
        ("it was 3.6 %", "new_data-drift.md", "| both"),
        ("to 6.4 %", "new_data-batches.md", "| heavy tails | 2,000"),
    ],
    "paper.rst": [("2020", PAPER)],
    "problem.rst": [
        ("250 intervals", "drsvm/audit/kernel_model.py", "SHIFT_GRID ="),
        (
            "best of 51 prices",
            "0 and the 50 prices of PRICE_GRID in drsvm/audit/kernel_model.py",
        ),
    ],
    "quickstart.rst": [("9999", EXAMPLE)],
    "robustness.rst": [
        ('−999 means "unknown"', EXAMPLE),
        ('−999 for "unknown"', EXAMPLE),
    ],
    "solvers.rst": [
        ("about ten epochs", "a comparison of costs in drsvm/solvers/selection.py"),
        ("powers of 10", "a definition"),
        ("in 6 to", "speed-polyhedral.md", "ijcnn1, q = ∞, c = 0"),
        ("24 iterations", "speed-polyhedral.md", "ijcnn1, q = 1, c = 0"),
        ("105 bytes per row", "cost.md", "| 10,000,000 |"),
        (
            "With more than 1000 features and fewer rows than",
            "drsvm/engines/cpu.py",
            "WIDE_FROM =",
        ),
        ("If 64 epochs", "drsvm/solvers/paper/incremental/run.py", "first_look="),
        ("after 64 epochs", "drsvm/solvers/paper/incremental/run.py", "first_look="),
        ("at most 5000 rows", "drsvm/solvers/selection.py", "system_size(problem) <="),
        (
            "with more than 1000 features and fewer rows,",
            "drsvm/engines/cpu.py",
            "WIDE_FROM =",
        ),
        (
            "up to 400 dense",
            "drsvm/solvers/interior_point/small.py",
            "MAX_ROWS =",
        ),
        (
            "300 sparse rows",
            "drsvm/solvers/reformulation/span_of_rows.py",
            "MAX_SPARSE =",
        ),
        ("0.003 times", "drsvm/solvers/base.py", "POLISHED, FINEST_AIM ="),
        ("at most 0.3 s", "drsvm/clock.py", "GRACE, RELATIVE_GRACE ="),
        (
            "at least 100 times as large",
            "drsvm/certificate/dual_bound.py",
            "LARGEST_CONTRIBUTION, ROOM =",
        ),
    ],
    "tutorial_new_data.rst": [
        ("months of 30 days", "docs/data/make_electricity.py divides them so")
    ],
    "tutorial_table.rst": [
        (
            "drift by 0.014 on average in the worst possible way, 27 %",
            "docs/tutorial_table.rst",
            "0.01423",
        ),
        ("instead of 16 %", "docs/tutorial_table.rst", "        0   0.4783"),
        ("of 6.4e-09 in 0.0565 s", "speed-euclidean.md", "| a9a, q = 2, c = 0"),
        ("takes 4.2 s in total", "command_line.md", "| fit a9a"),
        ("2.0 s are imports", "command_line.md", "import sklearn, numba"),
    ],
    "when_it_helps.rst": [
        (
            "gains 1.0 to 4.4 points",
            STUDY,
            REPORTED + 'Balanced accuracy, gain > threshold="balanced',
        ),
        (
            "−0.3 ± 0.4 points with correct labels, +0.1 ± 0.4 with",
            STUDY,
            REPORTED + "Accuracy, gain over LinearSVC" + SVC,
        ),
        ("+1.7 ± 0.9 with", STUDY, ACCURACY),
        ("+3.2 ± 1.6 with", STUDY, ACCURACY),
        ("−0.3 ± 0.6 with", STUDY, ACCURACY),
        (
            "0 to 1.6 points",
            STUDY,
            REPORTED + "Balanced accuracy, gain over LinearSVC" + SVC,
        ),
        (
            "−0.3 to +0.8 points",
            STUDY,
            REPORTED + "Area under the ROC curve, gain over LinearSVC" + SVC,
        ),
        ("lower in 1 of 90 cells", STUDY, BEHIND + " > | WassersteinSVC()"),
        ("behind in 2 of 90 cells", STUDY, BEHIND + " > | WassersteinSVC()"),
        ("behind in 3 of 90: ijcnn1", STUDY, BEHIND + " > | ClippedScaler"),
        ("in 3 of 90: tic-tac-toe", STUDY, BEHIND + " > | WassersteinKernelSVC()"),
        ("it is 7 of 100", STUDY, "| method | behind > | WassersteinSVC()"),
        ("6 of 100", STUDY, "| method | behind > | ClippedScaler"),
        ("3 of 100", STUDY, "| method | behind > | WassersteinKernelSVC()"),
        ("+0.1 to +4.9 points", STUDY, ALL_20 + "Accuracy, gain over LinearSVC" + SVC),
        (
            "wrong labels (−2.0) and with those of one class (−2.2)",
            STUDY,
            ALL_20 + "Balanced accuracy, gain" + SVC,
        ),
    ],
}
