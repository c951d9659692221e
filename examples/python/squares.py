# SPDX-License-Identifier: BSD-3-Clause
# Asks a server in C, squares.c, which says what to type. The types of the channels are as C declares them: an int, and a struct of an
# int and a double.
from millet import *

ask = -getNamedChannel("questions", type="i", timeout=30)
answer = +getNamedChannel("answers", type="id", timeout=30)
for n in (1, 4, 9, 2):
    ask(n)
    number, root = answer()
    print(f"the root of {number} is {root:.4f}")
retire(ask, answer)
