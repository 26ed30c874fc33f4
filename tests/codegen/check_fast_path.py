#!/usr/bin/env python3
"""Fail where the fast path of a function has a call, a lock prefix or too many instructions.

Usage: check_fast_path.py [--objdump PROGRAM] LIBRARY FUNCTION=LIMIT...

The fast path is what runs when no conditional jump is taken: from the entry to the return, which is not
counted. Compilers put what is unlikely behind jumps. The limit "jump:N" is for a function that leaves all to
another one: the last of its N instructions is a jump through a table of addresses, and it has no stack frame.
"""

import argparse
import re
import subprocess
import sys

INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\s+(\S.*)$")
ENDS = re.compile(r"^(?:notrack )?(?:ret|jmp)\b")
THROUGH_TABLE = re.compile(r"^(?:notrack |bnd )?jmp +\*0x[0-9a-f]+\(%rip\)")
FORBIDDEN = {
    "a call": re.compile(r"\bcall"),
    "a lock prefix": re.compile(r"^lock\b"),
    "an exchange with memory": re.compile(r"^xchg\b.*\("),
}
OF_FRAMES = {"a stack frame": re.compile(r"^push|%rsp")}


def address_of(library: str, function: str) -> int:
    table = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    )
    for line in table.stdout.splitlines():
        address, _, name = line.split(maxsplit=2)
        if name == function:
            return int(address, 16)
    raise SystemExit(f"{library}: exports no {function}")


def disassemble(objdump: str, library: str, address: int) -> list[str]:
    command = [
        objdump,
        "-d",
        "--no-show-raw-insn",
        f"--start-address={address}",
        f"--stop-address={address + 512}",
    ]
    listing = subprocess.run([*command, library], check=True, capture_output=True, text=True).stdout
    return [found[1] for line in listing.splitlines() if (found := INSTRUCTION.match(line))]


def fast_path(instructions: list[str]) -> list[str]:
    """Return the instructions before the first return or jump."""
    path: list[str] = []
    for text in instructions:
        if ENDS.match(text):
            if not text.startswith("ret"):
                path.append(text)
            return path
        if not text.startswith(("endbr", "nop")):
            path.append(text)
    return path


def faults(function: str, path: list[str], limit: str) -> list[str]:
    jumps, _, most = limit.rpartition(":")
    found = [
        f"{function}: {what}: {text}"
        for text in path
        for what, shape in (FORBIDDEN | OF_FRAMES if jumps else FORBIDDEN).items()
        if shape.search(text)
    ]
    if jumps and not (path and THROUGH_TABLE.match(path[-1])):
        found.append(f"{function}: ends by no jump through a table: {path[-1:]}")
    if not jumps:
        found += [f"{function}: does not return: {text}" for text in path if text.startswith("jmp")]
    if len(path) > int(most):
        found.append(f"{function}: {len(path)} instructions before the return, the limit is {most}")
    return found


def self_test() -> int:
    clean = ["mov (%rdi),%rax", "test %rax,%rax", "je 40", "ret", "call 80"]
    cases = [
        (clean, "3", 0),
        (clean, "2", 1),
        (["call 10", "ret"], "9", 1),
        (["lock cmpxchg %rax,(%rdi)", "ret"], "9", 1),
        (["xchg %eax,(%rdi)", "ret"], "9", 1),
        (["xchg %ax,%ax", "ret"], "9", 0),
        (["mov %rax,%rbx", "jmp 10"], "9", 1),
        (["endbr64", "ret"], "0", 0),
        (["endbr64", "jmp *0x50f2(%rip)  # ffc8"], "jump:1", 0),
        (["jmp 50f2 <_Znwm>"], "jump:1", 1),
        (["mov %rax,%rbx", "jmp *0x50f2(%rip)"], "jump:1", 1),
        (["mov %rax,%rbx", "jmp *0x50f2(%rip)"], "jump:2", 0),
        (["push %rbx", "jmp *0x50f2(%rip)"], "jump:2", 1),
        (["mov 0x8(%rsp),%rax", "ret"], "jump:2", 2),
    ]
    wrong = [case for case in cases if len(faults("f", fast_path(case[0]), case[1])) != case[2]]
    print(*wrong, sep="\n")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--objdump", default="objdump")
    parser.add_argument("library", nargs="?")
    parser.add_argument("limits", nargs="*", metavar="FUNCTION=LIMIT")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    found = []
    for item in arguments.limits:
        function, limit = item.split("=")
        path = fast_path(
            disassemble(arguments.objdump, arguments.library, address_of(arguments.library, function))
        )
        print(f"{function}: {len(path)} instructions before the return")
        found += faults(function, path, limit)
    print(*found, sep="\n", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
