"""The documentation as a site: `python -m website` builds it into build/site, without a network."""
