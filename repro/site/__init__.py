"""The static site: the comparison as pages that open from a folder, without a server."""
