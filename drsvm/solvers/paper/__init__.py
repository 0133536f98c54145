"""The algorithms of the paper, and one that answers a question of its last section.

`incremental` has ISG, IPPA and Hybrid, `proximal_steps` single steps of IPPA, and
`admm` has GS-ADMM, the baseline. `federated` is for rows on several machines, which the
paper leaves to future work.

References
----------
J. Li, C. Chen, A. M.-C. So, Fast Epigraphical Projection-based Incremental Algorithms
for Wasserstein Distributionally Robust Support Vector Machine, NeurIPS 2020. Sections,
equations and algorithms of "the paper" are those of this one, here and in all files of
this folder.
"""
