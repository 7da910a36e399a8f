"""What runs inside a program's own Python to learn its flags: standard library only, Python 3.9 syntax.

`execute.harvest` sends these modules as text, so that they need no package of ours in an image.
"""
