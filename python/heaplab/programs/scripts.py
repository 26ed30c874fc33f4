"""Programs in six languages: inputs of sqlite3, python3, perl, lua, ghostscript and cvc5."""

import random
from itertools import pairwise
from pathlib import Path

JOBS, MACHINES, LAST_HOUR = 12, 10, 170  # of the workshop that cvc5 plans


def sql_script(folder: Path) -> None:
    """work.sql: fills three tables with generated numbers, then joins, groups, updates and searches."""
    (folder / "work.sql").write_text("""
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, region INTEGER);
CREATE TABLE sale(id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER, note TEXT);
CREATE TABLE log(at INTEGER, text TEXT);
WITH RECURSIVE c(i, r) AS (SELECT 1, 17 UNION ALL SELECT i + 1, (r * 1103515245 + 12345) % 2147483648
  FROM c WHERE i < 4000)
  INSERT INTO customer SELECT i, printf('customer %08x', r), r / 65536 % 16 FROM c;
WITH RECURSIVE c(i, r) AS (SELECT 1, 99 UNION ALL SELECT i + 1, (r * 1103515245 + 12345) % 2147483648
  FROM c WHERE i < 150000)
  INSERT INTO sale SELECT i, 1 + r / 65536 % 4000, r / 256 % 100000, printf('%x-%d-%s', r, i, hex(r)) FROM c;
CREATE INDEX sale_customer ON sale(customer);
CREATE TRIGGER watch AFTER UPDATE ON sale
  BEGIN INSERT INTO log VALUES(old.id, old.note || '/' || new.cents); END;
SELECT region, count(*), sum(cents), count(DISTINCT sale.customer)
  FROM sale JOIN customer ON customer.id = customer GROUP BY region ORDER BY region;
UPDATE sale SET cents = cents + 7 WHERE id % 5 = 0;
SELECT substr(note, 1, 2) AS start, group_concat(length(note)) FROM sale
  GROUP BY start ORDER BY start LIMIT 40;
SELECT count(*), max(length(text)) FROM log;
SELECT name, (SELECT max(cents) FROM sale WHERE customer = customer.id) AS most FROM customer
  ORDER BY most DESC, name LIMIT 50;
SELECT count(*) FROM sale WHERE note LIKE '%beef%';
""")


def python_script(folder: Path) -> None:
    """work.py: objects, dictionaries, strings, sorting and JSON."""
    (folder / "work.py").write_text("""
import collections, json, re

class Node:
    def __init__(self, key):
        self.key, self.left, self.right, self.name = key, None, None, f"node {key}"

def insert(root, key):
    while True:
        side = "left" if key < root.key else "right"
        if (below := getattr(root, side)) is None:
            setattr(root, side, Node(key))
            return
        root = below

def walk(node):
    stack = []
    while stack or node:
        while node:
            stack.append(node)
            node = node.left
        node = stack.pop()
        yield node
        node = node.right

def numbers(count, state=12345):
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        yield state >> 8

for turn in range(8):
    root = Node(2**22)
    for key in numbers(15_000, turn):
        insert(root, key)
    names = [node.name for node in walk(root)]
    words = collections.Counter(word for name in names for word in re.findall(r"[0-9]{2}", name))
    text = json.dumps([{"name": name, "parts": list(name)} for name in names[:4000]])
    print(len(json.loads(text)), sorted(words.items(), key=lambda item: (-item[1], item[0]))[:20])
""")


def perl_script(folder: Path) -> None:
    """work.pl: hashes of arrays, substitutions and sorting of strings."""
    (folder / "work.pl").write_text("""
use strict;
my ($state, %by_start, %count) = (42);
for my $n (1 .. 60_000) {
  $state = ($state * 1103515245 + 12345) % 2147483648;
  my $line = sprintf("%08x line %d of %s", $state, $n, "x" x ($state % 60));
  push @{$by_start{substr($line, 0, 3)}}, $line;
  $count{$_}++ for $line =~ /([a-f]+)/g;
}
my $text = join("\\n", map { sort @{$by_start{$_}} } sort keys %by_start);
$text =~ s/(\\d+) of (x+)/length($2) . "-$1"/ge;
my @words = sort { length($b) <=> length($a) || $a cmp $b } split(/\\s+/, $text);
print scalar(@words), " $words[0] $words[-1]\\n", substr($text, 0, 2000), "\\n";
print "$_ $count{$_}\\n" for (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 30];
""")


def lua_script(folder: Path) -> None:
    """work.lua: binary trees, one that stays and many that are built, counted and dropped."""
    (folder / "work.lua").write_text("""
local function tree(depth)
  if depth == 0 then return {} end
  return { tree(depth - 1), tree(depth - 1) }
end

local function nodes(root)
  if not root[1] then return 1 end
  return 1 + nodes(root[1]) + nodes(root[2])
end

local deepest = 16
local kept = tree(deepest)
for depth = 4, deepest, 2 do
  local trees, sum = 1 << (deepest - depth), 0
  for _ = 1, trees do sum = sum + nodes(tree(depth)) end
  print(trees, depth, sum)
end
print(1, deepest, nodes(kept))
""")


def postscript_pages(folder: Path) -> None:
    """work.ps: dictionaries, strings and arrays, and pages of paths and text drawn from them."""
    (folder / "work.ps").write_text("""%!PS
/state 42 def
/draw { /state state 1103 mul 12345 add 65521 mod def state exch mod } bind def
/names 4000 dict def
0 1 3999 {
  /n exch def
  /name 12 string def
  0 1 11 { name exch 26 draw 97 add put } for
  names name cvn [ 8 draw 1 add { 100 draw } repeat ] put
} for
/Helvetica findfont 7 scalefont setfont
1 1 12 {
  pop
  newpath
  300 { 595 draw 842 draw moveto 595 draw 842 draw 595 draw 842 draw 595 draw 842 draw curveto } repeat
  0.2 setlinewidth stroke
  /y 830 def
  names {
    /list exch def /name exch def
    y 12 lt { exit } if
    20 y moveto name 40 string cvs show
    list { 20 string cvs show ( ) show } forall
    /y y 9 sub def
  } forall
  showpage
} for
""")


def job_shop(folder: Path) -> None:
    """shop.smt2: every job visits all machines in an order of its own; no machine has two jobs at a time."""
    draw = random.Random(1)
    constraints, ends = [], []
    hours = {(job, machine): draw.randrange(1, 10) for job in range(JOBS) for machine in range(MACHINES)}
    for job in range(JOBS):
        order = draw.sample(range(MACHINES), MACHINES)
        constraints.append(f"(>= {start(job, order[0])} 0)")
        for machine, following in pairwise(order):
            constraints.append(after(start(job, following), start(job, machine), hours[job, machine]))
        constraints.append(f"(<= {start(job, order[-1])} {LAST_HOUR})")
        ends.append(start(job, order[-1]))
    for machine in range(MACHINES):
        for job in range(JOBS):
            for other in range(job):
                first, second = start(job, machine), start(other, machine)
                one_way = after(first, second, hours[other, machine])
                other_way = after(second, first, hours[job, machine])
                constraints.append(f"(or {one_way} {other_way})")
    lines = ["(set-option :produce-models true)", "(set-logic QF_IDL)"]
    lines += [f"(declare-const {start(job, machine)} Int)" for job, machine in hours]
    lines += [f"(assert {constraint})" for constraint in constraints]
    lines += ["(check-sat)", f"(get-value ({' '.join(ends)}))"]
    (folder / "shop.smt2").write_text("\n".join(lines) + "\n")


def start(job: int, machine: int) -> str:
    return f"start_{job}_{machine}"


def after(late: str, early: str, hours: int) -> str:
    """At least so many hours lie between two starts."""
    return f"(>= (- {late} {early}) {hours})"
