"""Parts on a Dask cluster: `blocks` are its data, `coordinator` sends the rounds, `worker` runs there."""
