"""What backs the figures in prose that neither a block of their page nor a long number
in a result does.

For each page: words of a sentence with the figures, a file and the row in it that has
them (a result of a benchmark, or the constant in the source), or else the reason why
nothing can.
"""

GPU = "scale-gpu.md"
TEXT = "highdim-small-q2.md"
TABLES = "new_data-tables.md"
BEHIND = "## 400 training rows > | method | behind"
FORESTS = "study-forests.md"
AQUA = "public/aqua.md"
MODEL = "## Model on test rows > | "
CAREFUL = "Accuracy, gain over LinearSVC > | "
VERSION = "a version"
PAPER = "the year of the paper"

BACKING: dict[str, list[tuple[str, str] | tuple[str, str, str]]] = {
    "README.md": [
        ("| 7.1 |", "cost.md", "| 10,000,000 |"),
        (
            (
                "0.98 times the time of LinearSVC (geometric mean of 32 settings), at"
                " most 2.3"
            ),
            "highdim-small-q2.md",
            "Gap 1e-05",
        ),
        ("0.72 times, at most 1.3", TEXT, "Gap 0.001"),
        ("3.11", VERSION),
        ("0.05 to", "speed-polyhedral.md", "ijcnn1, q = ∞, c = 0"),
        ("0.07; the fastest", "speed-euclidean.md", "ijcnn1, q = 2, c = 1"),
        ("takes 12 to", "speed-polyhedral.md", "smallest 11.6"),
        ("57 times as long", "speed-euclidean.md", "largest 57.4"),
        ("norm 2, 11 to", "speed-qoco-polyhedral.md", "smallest 11.1"),
        ("44 times on a9a", "speed-qoco-euclidean.md", "largest 43.9"),
        (
            "0.42; 16 cores of the same machine take 82 times",
            GPU,
            "2,000,000 × 1,000 float64",
        ),
        ("standard errors 0.4 to 1.7", FORESTS, CAREFUL + "WassersteinSVC()"),
        ("0 of 40 cells", FORESTS, BEHIND + " > | WassersteinSVC()"),
        ("+2.8 / +2.3 / +1.8 / +3.5 points", FORESTS, CAREFUL + "WassersteinKernelSVC"),
        (
            "leaves of 5 rows +4.0 / +4.2 / +0.4 / −8.0",
            FORESTS,
            CAREFUL + "RandomForestClassifier(min_samples_leaf=5)",
        ),
        (
            "of 20 rows +1.8 / +2.9 / +3.0 / −11.8",
            FORESTS,
            CAREFUL + "RandomForestClassifier(min_samples_leaf=20)",
        ),
        (
            "small steps +3.5 / +2.2 / −3.3 / −6.4",
            FORESTS,
            CAREFUL + "HistGradientBoostingClassifier(learning_rate",
        ),
        ("standard errors 1.1", FORESTS, CAREFUL + "WassersteinKernelSVC"),
        ("to 3.2)", FORESTS, CAREFUL + "RandomForestClassifier(min_samples_leaf=20)"),
        ("40 fits", "eight values of C and five folds in the example"),
        ("nine tables in time order", "three natural ones and six made of others"),
        ("10 / 15 / 30 % wrong labels", "the rows of a table in labels-tables.md"),
        ("85.3 / 90.2 / 94.8", "labels-tables.md", "| 10% |"),
        ("85.3 / 90.2 / 94.8", "labels-tables.md", "| 15% |"),
        ("85.3 / 90.2 / 94.8", "labels-tables.md", "| 30% |"),
        ("77.7 / 84.9 / 90.3", "labels-tables.md", "| 10% |"),
        ("77.7 / 84.9 / 90.3", "labels-tables.md", "| 15% |"),
        ("77.7 / 84.9 / 90.3", "labels-tables.md", "| 30% |"),
        ("+2.6 / +2.5 / +2.3 points", "labels-tables.md", "| 10% |"),
        ("+2.6 / +2.5 / +2.3 points", "labels-tables.md", "| 15% |"),
        ("+2.6 / +2.5 / +2.3 points", "labels-tables.md", "| 30% |"),
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
    "which_tool.rst": [
        ("4.5 points of accuracy", FORESTS, CAREFUL + "RandomForestClassifier()"),
        ("a weighted F1 of 74.0 %", AQUA, MODEL + "WassersteinSVC"),
        ("82.5 %. Its threshold", AQUA, MODEL + "LogisticRegression, no cleaning"),
        ("where 40 % are wrong", "a setting of public/aqua.md"),
        ("and 1.7 ahead", "4.5 of forests less 2.8 of the kernel, study-forests.md"),
        (
            "leaves of 5 rows gain 4.2 points",
            FORESTS,
            CAREFUL + "RandomForestClassifier(min_samples_leaf=5)",
        ),
        (
            "of 20 rows 3.0 points",
            FORESTS,
            CAREFUL + "RandomForestClassifier(min_samples_leaf=20)",
        ),
        ("gains 2.3 and 1.8", FORESTS, CAREFUL + "WassersteinKernelSVC()"),
        ("they gain 3.4", FORESTS, CAREFUL + "WassersteinSVC()"),
        ("and 3.5 points", FORESTS, CAREFUL + "WassersteinKernelSVC()"),
        ("lose 7.9", FORESTS, CAREFUL + "RandomForestClassifier()"),
        (
            "to 11.8 and",
            FORESTS,
            CAREFUL + "RandomForestClassifier(min_samples_leaf=20)",
        ),
        (
            "boosted trees 6.4",
            FORESTS,
            CAREFUL + "HistGradientBoostingClassifier(learning_rate",
        ),
        (
            "6.6 % on breast cancer",
            "certified_rows.md",
            "rows-breast-cancer > | robust trees",
        ),
        ("35.7 % on diabetes", "certified_rows.md", "rows-diabetes > | robust trees"),
        (
            "library 15.3 %",
            "certified_rows.md",
            "rows-breast-cancer > | WassersteinSVCCV",
        ),
        ("and 30.5 %", "certified_rows.md", "rows-diabetes > | WassersteinSVCCV"),
        ("off by 3.2 points", TABLES, "| in time order"),
        ("by 3.7 to 4.4", TABLES, "| in time order"),
        ("is 1.2 points", "4.0 of the forest less 2.8, study-forests.md"),
        ("and 2.0 points", "4.4 of the forest less 2.4, study-forests.md"),
        ("7 of 60 cells", "the sums of the last column of label_noise_shift.md"),
        ("with up to 30 % wrong labels ([3]", "a source of the page"),
        ("Read in 2026", "a year"),
        ("ICML 2026", PAPER),
        (
            "about 80 % of the tables of TabArena; for 300 to 100,000 rows",
            "a source of the page",
        ),
        ('Report", 2026', PAPER),
        ("default model takes 5,000 rows", "a source of the page"),
        ("takes up to 5,000 rows", "a source of the page"),
        ("up to 30 % wrong labels.", "a source of the page"),
        ('[3] "Assessing', "a footnote"),
        ("NeurIPS 2019", PAPER),
    ],
    "when_it_helps.rst": [
        ("On all 32,561 rows", "the size of adult"),
        ("with 24 % of the labels", AQUA, "## Each > | class-dependent |"),
        ("a weighted F1 of 74.0", AQUA, MODEL + "WassersteinSVC"),
        ("against 82.5 %", AQUA, MODEL + "LogisticRegression, no cleaning"),
        ("With 10 % wrong labels the two", "a setting of public/aqua.md"),
        ("gains 3.4 points", FORESTS, CAREFUL + "WassersteinSVC()"),
        (
            "lose 6.4",
            FORESTS,
            CAREFUL + "HistGradientBoostingClassifier(learning_rate",
        ),
        ("to 11.8.", FORESTS, CAREFUL + "RandomForestClassifier(min_samples_leaf=20)"),
        ("by 4.5 points", FORESTS, CAREFUL + "HistGradientBoostingClassifier()"),
        (
            "with leaves of 5 or 20 rows is as good",
            "settings of forests, in study-forests.md",
        ),
        ("0.4 to 1.7 points", FORESTS, CAREFUL + "WassersteinSVC()"),
        ("and 0.6 to", FORESTS, CAREFUL + "ClippedScaler, WassersteinSVC()"),
        ("tuned by 75 fits", "15 settings in five folds"),
        ("4.7 for", FORESTS, CAREFUL + 'WassersteinSVC(threshold="balanced_accuracy")'),
        ("gains 3.5 points", FORESTS, CAREFUL + "WassersteinKernelSVC()"),
        ("lose 7.9", FORESTS, CAREFUL + "RandomForestClassifier()"),
        (
            "to 11.8. Trees",
            FORESTS,
            CAREFUL + "RandomForestClassifier(min_samples_leaf=20)",
        ),
        ("lose 4.4", FORESTS, CAREFUL + "RandomForestClassifier()"),
        ("8.9 points", FORESTS, CAREFUL + "HistGradientBoostingClassifier()"),
        (
            "small steps 3.3",
            FORESTS,
            CAREFUL + "HistGradientBoostingClassifier(learning_rate",
        ),
        ("behind in 1 of 40 cells", FORESTS, BEHIND + " > | WassersteinSVC()"),
        ("is 9.8 points ahead and its area 5.1", FORESTS, "- WassersteinSVC(): ijcnn1"),
        ("behind in 3 of 40", FORESTS, BEHIND + " > | ClippedScaler"),
        (
            "40 of 60 cells",
            "the sums of the last two columns of the table that is included",
        ),
        ("7 of 60", "likewise"),
    ],
}
