"""Training: a model, a layout and a cluster to a step as tasks on streams, its time and memory."""
