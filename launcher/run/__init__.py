"""The supervisor that travels into the run directory as `run.pyz`.

Standard library only, Python 3.9 and later; nothing here may import another room of the package.
"""
