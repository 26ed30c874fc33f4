"""The functions of an ELF file, as another reader finds them."""

import platform
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from subprocesses import ran

from heaplab.machine import elf

TEXT = ".type first, @function\n.globl first\nfirst: nop\n.size first, 1\n.data\nvalue: .long 7\n"

pytestmark = [
    pytest.mark.starts_programs,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the assembler of x86-64 makes both widths"),
]


@pytest.mark.parametrize("width", ["--32", "--64"])
def test_functions_of_a_symbol_table_are_those_that_pyelftools_reads(tmp_path: Path, width: str) -> None:
    (tmp_path / "x.s").write_text(".text\n.skip 16\n" + TEXT)
    ran("as", width, "-o", tmp_path / "x.o", tmp_path / "x.s", check=True)
    with (tmp_path / "x.o").open("rb") as stream:
        file = ELFFile(stream)
        [(number, symbol)] = [
            (number, symbol)
            for number, symbol in enumerate(file.get_section_by_name(".symtab").iter_symbols())
            if symbol["st_info"]["type"] == "STT_FUNC"
        ]
        [found] = elf.functions_in(file, ".symtab")
        # The linker and the assembler let a name share the end of another.
        names = ("first", "value", "irst", "fir")
        assert [elf.defines(file, ".symtab", name) for name in names] == [True, False, False, False]
    assert found == (number, symbol.name, symbol["st_value"], symbol["st_size"], elf.FUNCTION)
    assert (found.name, found.start, found.size) == ("first", 16, 1)
