"""The graph of a cluster: components, links, addresses, routes, changes, presets, fabrics."""
