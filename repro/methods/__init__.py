"""The methods, one file or folder each, found by `repro.spec.method.methods`.

A file, or a folder's `__init__.py`, holds the settings of one or more methods and all that is
particular to them, without torch; the modules that train stand beside it.
"""
