"""The fast paths of malloc and free in a library: straight, short, without calls, stack or atomics.

Usage: codegen_test.py OBJDUMP LIBRARY
"""

import re
import subprocess
import sys

# Instructions from the entry to the first return; a little above what the compiler makes of it now.
BUDGETS = {"malloc": 26, "free": 20}


def instructions_of(objdump: str, library: str, function: str) -> list[str]:
    """Return the instructions of `function` up to its first return."""
    symbols = subprocess.run([objdump, "-T", library], capture_output=True, text=True, check=True).stdout
    entry = re.search(rf"^([0-9a-f]+) .*\b{function}$", symbols, re.MULTILINE)
    if not entry:
        sys.exit(f"{library} exports no {function}")
    command = [objdump, "-d", "--no-show-raw-insn", f"--start-address=0x{entry[1]}", library]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = []
    for line in text.splitlines():
        if match := re.match(r"\s*[0-9a-f]+:\t(.*)", line):
            found.append(match[1].strip())
            if found[-1].startswith("ret"):
                return found
    sys.exit(f"{function} of {library} has no return")


def faults(function: str, instructions: list[str]) -> list[str]:
    """Return what is wrong with a fast path."""
    unwanted = {
        "a call": r"^(call|bl)\b",
        "an atomic instruction": r"^lock\b|^xchg .*\(|^ldaxr|^stlxr|^cas|^swp",
        "a stack frame": r"^push|^sub .*%rsp|^stp",
        "a look-up of a thread-local address": r"__tls_get_addr|tlsdesc",
    }
    found = [
        f"{function}: {what}: {instruction}"
        for instruction in instructions
        for what, pattern in unwanted.items()
        if re.search(pattern, instruction)
    ]
    if len(instructions) > BUDGETS[function]:
        found.append(f"{function}: {len(instructions)} instructions, more than {BUDGETS[function]}")
    return found


def main() -> int:
    objdump, library = sys.argv[1:]
    found = []
    for function in BUDGETS:
        instructions = instructions_of(objdump, library, function)
        print(f"{function}: {len(instructions)} instructions")
        found += faults(function, instructions)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
