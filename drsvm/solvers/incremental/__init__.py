"""The paper's incremental methods: ISG, IPPA and Hybrid, and `partial_fit`."""
