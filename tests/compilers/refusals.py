"""What a compiler says of a use that the local allocators refuse: one error, the reason and the way out."""

import re
from concurrent.futures import Executor
from dataclasses import dataclass

from compiler import messages_on

OLD_STANDARDS = ("-std=c++98", "-std=c++11", "-std=c++14", "-std=c++17")
LONGEST = 12  # lines of a message, with the source that it quotes

HEAD = """#include <heaplab/local/local.h>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
struct order { std::string name; };
heaplab::local::monotonic_resource source;
using typed = heaplab::local::allocator<std::pmr::string, heaplab::local::monotonic_resource>;
"""
STRING = r"std::(__cxx11::)?basic_string<char"
# Types that may not be abandoned in a resource, and the part of each that the message has to name.
REFUSED = {
    "std::string": STRING,
    "order": "order",
    "std::pmr::vector<order>": "order",
    "std::pmr::map<int, std::string>": STRING,
    "std::pmr::vector<std::pair<int, std::shared_ptr<int>>>": "std::shared_ptr<int>",
    "std::pmr::vector<std::optional<std::pmr::string>>": STRING,
    "std::pmr::vector<std::vector<std::pmr::string, typed>>": STRING,
    "std::pmr::set<int, std::function<bool(int, int)>>": r"std::function<bool ?\(int, int\)>",
}


@dataclass(frozen=True)
class Case:
    """A text that a compiler has to refuse with one error, in which `expected` is found."""

    name: str
    standard: str
    text: str
    expected: str


def wink(made: str, said: str = "") -> str:
    """Return a declaration that makes an object and abandons it."""
    return f"[[maybe_unused]] auto& object = heaplab::local::make_winked<{made}>({said}source);\n"


def cases() -> list[Case]:
    needs = r"heaplab::local needs C\+\+20"
    found = [Case("the header", old, "#include <heaplab/local/local.h>\n", needs) for old in OLD_STANDARDS]
    for made, part in REFUSED.items():
        # The condition that failed, with the part, and the advice: compilers differ in their order.
        expected = rf"(?s)(?=.*winks_out<{part})(?=.*wink_anyway, source)"
        found.append(Case(made, "-std=c++20", HEAD + wink(made), expected))
    return found


def follow_the_advice() -> str:
    """Return a text that is to be accepted: it says wink_anyway for each of the types refused without."""
    anyway = "heaplab::local::wink_anyway, "
    return HEAD + "".join(f"void make_{i}() {{ {wink(made, anyway)} }}\n" for i, made in enumerate(REFUSED))


def failures(compiler: str, pool: Executor) -> list[str]:
    """Return what is wrong with the compiler's messages."""

    def failure(case: Case) -> str:
        said = messages_on(compiler, "c++", (case.standard,), case.text)
        if len(re.findall(r"\berror:", said)) != 1 or said.count("\n") > LONGEST:
            problem = f"not one error in at most {LONGEST} lines"
        elif not re.search(case.expected, said):
            problem = f"does not say {case.expected}"
        else:
            return ""
        return f"{compiler} {case.standard}, {case.name}: {problem}:\n{said}"

    said = messages_on(compiler, "c++", ("-std=c++20",), follow_the_advice())
    wrong = [f"{compiler}, wink_anyway:\n{said}"] if said else []
    return wrong + [text for text in pool.map(failure, cases()) if text]
