"""Inputs of the real programs, generated from a fixed seed: the same bytes on every machine.

Each function fills an empty folder, in a second or two. A workload in the catalog names its function as
`input`; the arguments of the workload, and the commands of a server, name the files.
"""

import json
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from heaplab.errors import HeaplabError
from heaplab.programs.server_inputs import empty_folder, nginx_site, postgres_cluster, redis_commands
from heaplab.programs.text import WORDS, sentence


class OrderedItem(TypedDict):
    name: str
    pieces: int
    cents: int


class ShopOrder(TypedDict):
    id: int
    customer: str
    region: str
    note: str
    items: list[OrderedItem]


def orders(count: int) -> list[ShopOrder]:
    """Records like those of a shop: a few fields of different types, and a list of items."""
    draw = random.Random(1)
    return [
        {
            "id": number,
            "customer": f"{draw.choice(WORDS)}-{draw.randrange(200)}",
            "region": draw.choice(WORDS[:8]),
            "note": sentence(draw, draw.randrange(12)),
            "items": [
                {
                    "name": draw.choice(WORDS),
                    "pieces": draw.randrange(1, 9),
                    "cents": draw.randrange(100, 90_000),
                }
                for _ in range(draw.randrange(1, 6))
            ],
        }
        for number in range(count)
    ]


SHEET = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="html" encoding="UTF-8"/>
<xsl:key name="regions" match="order" use="@region"/>
<xsl:template match="/orders">
  <html><body>
    <xsl:for-each select="order[generate-id() = generate-id(key('regions', @region)[1])]">
      <xsl:sort select="@region"/>
      <h1><xsl:value-of select="@region"/>: <xsl:value-of select="count(key('regions', @region))"/></h1>
      <table><xsl:apply-templates select="key('regions', @region)">
        <xsl:sort select="@customer"/><xsl:sort select="@id" data-type="number"/>
      </xsl:apply-templates></table>
    </xsl:for-each>
  </body></html>
</xsl:template>
<xsl:template match="order">
  <tr class="{translate(@customer, 'abcdefghij', 'ABCDEFGHIJ')}">
    <td><xsl:value-of select="concat(@id, ' of ', @customer)"/></td>
    <td><xsl:value-of select="normalize-space(note)"/></td>
    <td><xsl:value-of select="sum(item/@cents)"/></td>
    <td><xsl:for-each select="item"><xsl:sort select="@name"/>
      <b><xsl:value-of select="substring(@name, 1, 3)"/></b> <xsl:value-of select="@pieces * @cents"/>
    </xsl:for-each></td>
  </tr>
</xsl:template>
</xsl:stylesheet>
"""


def xml_orders(folder: Path) -> None:
    """orders.xml, 2.5 MB, and sheet.xsl, which groups and sorts the orders into HTML."""
    lines = ["<orders>"]
    for order in orders(10_000):
        lines.append(f'<order id="{order["id"]}" customer="{order["customer"]}" region="{order["region"]}">')
        lines.append(f"  <note>{order['note']}</note>")
        for item in order["items"]:
            lines.append("  <item " + " ".join(f'{key}="{value}"' for key, value in item.items()) + "/>")
        lines.append("</order>")
    (folder / "orders.xml").write_text("\n".join([*lines, "</orders>"]))
    (folder / "sheet.xsl").write_text(SHEET)


def json_orders(folder: Path) -> None:
    """orders.json, 2.5 MB, and summary.jq, which flattens, groups and sorts the orders."""
    (folder / "orders.json").write_text(json.dumps(orders(8_000), indent=0))
    (folder / "summary.jq").write_text("""
[.[] | . as $order | .items[] | {region: $order.region, name, value: (.pieces * .cents), by: $order.customer}]
| group_by(.region) | map({
    region: .[0].region,
    value: (map(.value) | add),
    names: (group_by(.name) | map({(.[0].name): length}) | add),
    customers: (map(.by | ascii_upcase) | unique | length)
  })
""")


CXX_PART = """
struct node_{n} {{ int key; std::string name; std::vector<node_{n}> below; }};
template<class Visit> void walk(const node_{n}& node, Visit visit) {{
  visit(node.key, node.name);
  for (const auto& child : node.below) walk(child, visit);
}}
std::map<std::string, std::vector<int>> collect_{n}(const node_{n}& root) {{
  std::map<std::string, std::vector<int>> found;
  walk(root, [&](int key, const std::string& name) {{ found[name + "{word}"].push_back(key * {n}); }});
  for (auto& [name, keys] : found)
    std::sort(keys.begin(), keys.end(), [](int a, int b) {{ return a % {m} < b % {m}; }});
  return found;
}}
"""


def cxx_unit(folder: Path) -> None:
    """unit.cpp: records with containers of the standard library, and a template for each record."""
    parts = [CXX_PART.format(n=n, m=n + 7, word=WORDS[n % len(WORDS)]) for n in range(6)]
    includes = "".join(f"#include <{name}>\n" for name in ("algorithm", "map", "string", "vector"))
    (folder / "unit.cpp").write_text(includes + "".join(parts))


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


def git_history(folder: Path) -> None:
    """A bare repository: 800 commits to 40 text files, unpacked from one stream."""
    draw, stream, at = random.Random(1), [], 1_600_000_000
    files = {f"part{n % 5}/file{n}.txt": [sentence(draw, 8) for _ in range(150)] for n in range(40)}
    for number in range(800):
        changed = files if number == 0 else draw.sample(sorted(files), 3)
        message = sentence(draw, 9)
        stream.append(f"commit refs/heads/main\ncommitter A <a@example.org> {at + number * 60} +0000\n")
        stream.append(f"data {len(message)}\n{message}\n")
        for name in changed:
            for _ in range(4 if number else 0):
                files[name][draw.randrange(len(files[name]))] = sentence(draw, 8)
            text = "\n".join(files[name]) + "\n"
            stream.append(f"M 100644 inline {name}\ndata {len(text)}\n{text}\n")
    run_git(folder, "init", "--quiet", "--bare", "--initial-branch=main")
    run_git(folder, "fast-import", "--quiet", stream="".join(stream))


def run_git(folder: Path, *words: str, stream: str = "") -> None:
    plain = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_DIR": "."}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | plain
    try:
        subprocess.run(
            ["git", *words],
            cwd=folder,
            env=environment,
            input=stream.encode(),
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise HeaplabError(f"git {words[0]}: {error}") from error


INPUTS: dict[str, Callable[[Path], None]] = {
    maker.__name__: maker
    for maker in (
        xml_orders,
        json_orders,
        cxx_unit,
        sql_script,
        python_script,
        perl_script,
        postscript_pages,
        git_history,
        redis_commands,
        nginx_site,
        postgres_cluster,
        empty_folder,
    )
}
