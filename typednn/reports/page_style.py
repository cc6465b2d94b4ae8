"""The style of a run's page: CSS for wide and narrow screens, in the light and the dark, in the pictures' colours."""

from typednn.charts import PALETTE
from typednn.reports.canvas import ALARM, CELL, DARK, HALF, INK, ON_STRONG, PAPER, STRONG

LEVELS = 20  # of the opacity of a cell

# Names of colours: their values in the light, and in the dark. Texts have a contrast of 4.5 at least.
LIGHT = {
    "ink": INK,
    "soft": "#59636e",
    "paper": "#ffffff",
    "cell": CELL,
    "card": "#f6f8fa",
    "line": "#d1d9e0",
    "link": "#0550ae",
    "warn": "#fff4d6",
}
DIM = {
    "ink": DARK[INK],
    "soft": "#9aa4af",
    "paper": DARK[PAPER],
    "cell": DARK[CELL],
    "card": "#161b22",
    "line": "#30363d",
    "link": "#79b8ff",
    "warn": "#332701",
}
# Those of `typednn.curves`: lines, which need less contrast than texts.
_CURVES = {**{f"c{place}": colour for place, colour in enumerate(PALETTE)}, "alarm": ALARM}
_DIMMED = DIM | {name: DARK[colour] for name, colour in _CURVES.items()}
_STYLE = (
    f"""
:root{{color-scheme:light dark;{"".join(f"--{name}:{colour};" for name, colour in (LIGHT | _CURVES).items())}}}
@media (prefers-color-scheme:dark){{:root{{{"".join(f"--{name}:{colour};" for name, colour in _DIMMED.items())}}}
img.chart{{filter:invert(1) hue-rotate(180deg)}}}}
"""
    + """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);
 font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
header,main{max-width:62rem;margin:0 auto;padding:1rem}
.broad header,.broad main{max-width:90rem}
h1{margin:.4rem 0;font-size:1.7rem;line-height:1.25;overflow-wrap:break-word}
h2{margin:2.2rem 0 .6rem;font-size:1.25rem;border-bottom:1px solid var(--line);padding-bottom:.2rem;
 overflow-wrap:break-word}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(9rem,100%),1fr));gap:.6rem;margin:1rem 0}
dl div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.5rem .8rem;min-width:0}
dt{color:var(--soft);font-size:.85rem;overflow-wrap:anywhere}
dd{margin:0;font-size:1.25rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem}a{color:var(--link)}
header p{margin:.2rem 0;color:var(--soft);font-size:.9rem;overflow-wrap:anywhere}
aside{background:var(--warn);border:1px solid var(--line);border-radius:8px;padding:.2rem 1rem .6rem}
aside h2{margin:.6rem 0;border:0;font-size:1.05rem}ul{padding-left:1.2rem}li{overflow-wrap:anywhere}
figure{margin:1rem 0;text-align:center}
img{max-width:100%;height:auto;border-radius:8px}
img.chart,img.photo{background:#fff}
img.large{max-width:none;width:max(100%,44rem)}
figcaption,.note{color:var(--soft);font-size:.9rem}.note{font-style:italic;overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .8rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
td{white-space:nowrap}
.names td:first-child,.words td{white-space:pre-wrap;overflow-wrap:anywhere;min-width:4rem;max-width:40rem}
th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-align:left}
th[aria-sort=ascending] button::after{content:" ▲"}th[aria-sort=descending] button::after{content:" ▼"}
th{color:var(--soft);font-weight:600}summary{cursor:pointer;margin:.8rem 0 .3rem;font-weight:600;overflow-wrap:anywhere}
.matrix th,.matrix td{border:1px solid var(--line);padding:.15rem .3rem;text-align:center;
 vertical-align:middle;min-width:1.7rem}
.matrix td{color:var(--cell)}
.matrix thead th{vertical-align:bottom}
.matrix thead span{writing-mode:vertical-rl;transform:rotate(180deg);max-height:11rem;text-align:left;
 overflow-wrap:anywhere}
.matrix tbody span{display:block;width:max-content;max-width:9rem;margin-left:auto;overflow-wrap:anywhere}
.matrix th[scope=row]{position:sticky;left:0;background:var(--paper);text-align:right}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.8rem;overflow-x:auto;
margin:.6rem 0;font:13px/1.45 ui-monospace,Menlo,Consolas,monospace}
pre.text{white-space:pre-wrap;overflow-wrap:anywhere}
@media (max-width:36rem){th,td{padding-right:.45rem}table{font-size:.85rem}.matrix th,.matrix td{padding:.15rem .1rem}
header,main{padding:.8rem}h1{font-size:1.4rem}h2{font-size:1.15rem}
dl{grid-template-columns:1fr 1fr;gap:.4rem}dd{font-size:1.1rem}}
@media print{nav{display:none}.wide,pre{overflow:visible;white-space:pre-wrap}}
"""
)


def cell_style(level: int) -> str:
    """The rule for a cell of the matrix that is ``level`` of `LEVELS` opaque."""
    share = level / LEVELS
    return (
        f".matrix .a{level}{{background:{STRONG}{round(255 * share):02x}"
        + (f";color:{ON_STRONG}" if share > HALF else "")
        + "}"
    )


def page_style() -> str:
    """The page's CSS."""
    return _STYLE + "".join(map(cell_style, range(1, LEVELS + 1))) + "\n"
