"""The orders of a shop, as XML and as JSON, with what transforms them: inputs of xsltproc and jq."""

import json
import random
from pathlib import Path
from typing import Any

from heaplab.programs.random_words import WORDS, sentence


def orders(count: int) -> list[dict[str, Any]]:
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
