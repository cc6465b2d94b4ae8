"""500 names that mean harm: to a page, to a notebook, to a terminal, to a spreadsheet.

They are generated, in the same order each time. What they try is seen: a script that runs sets `MARK` on the window at
the top, and asks the server at ``address`` for ``/n`` and its number, as a picture, a style or a frame that is loaded
does; titles become `MARK`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Final

COUNT: Final = 500
MARK: Final = "owned"

# What closes the element, the attribute, the comment or the string that the name may stand in.
_CLOSING: Final = (
    "",
    '">',
    "'>",
    "`>",
    "-->",
    "]]>",
    "</pre></td></tr></table>",
    "</title>",
    "</style>",
    "</script>",
    "</textarea>",
    "</svg></math>",
    "</noscript>",
    "</iframe></template>",
    "</body></html>",
    "\\\"'>",
    "*/--></style>",
    "<!--><!---->",
)

_ELEMENTS: Final = (
    "<script>{js}</script>",
    "<img src=x onerror={js}>",
    "<img src={url}>",
    "<svg onload={js}>",
    "<link rel=stylesheet href={url}>",
    "<iframe src={url}></iframe>",
    "<style>@import '{url}';*{{background:url({url})}}</style>",
    "<details open ontoggle={js}>x</details>",
)
_MORE_ELEMENTS: Final = (
    "<script src={url}></script>",
    '<iframe srcdoc="<script>{js}</script>"></iframe>',
    '<iframe src="javascript:{js}"></iframe>',
    "<object data={url}></object>",
    "<embed src={url}>",
    "<video autoplay><source src=x onerror={js}></video>",
    "<audio src=x onerror={js}>",
    "<input autofocus onfocus={js}>",
    "<select autofocus onfocus={js}></select>",
    "<body onload={js}>",
    "<body background={url}>",
    "<meta http-equiv=refresh content='0;url={url}'>",
    "<base href={url}/>",
    "<form action={url}><button autofocus onfocus={js}>x</button></form>",
    "<marquee onstart={js}>x</marquee>",
    '<a href="javascript:{js}" autofocus onfocus={js}>x</a>',
    "<xss contenteditable autofocus onfocus={js}>",
    "<style>@keyframes k{{}}</style><p style=animation:k onanimationstart={js}>",
    "<p style='background:url({url})'>x",
    "<table background={url}><td background={url}>",
    "<template shadowrootmode=open><img src={url}></template>",
    "<noscript><p title='</noscript><img src=x onerror={js}>'>",
    "<svg><script>{js}</script></svg>",
    "<svg><script href={url} /></svg>",
    "<svg><animate onbegin={js} attributeName=x dur=1s>",
    "<svg><image href={url} /></svg>",
    '<svg><use href="{url}#x"/></svg>',
    "<svg><foreignObject><body onload={js}></foreignObject></svg>",
    "<svg><style><img src=x onerror={js}></style>",
    "<math><mtext><table><mglyph><style><img src=x onerror={js}>",
    '<math href="javascript:{js}">x</math>',
    "<math><annotation-xml encoding=text/html><img src=x onerror={js}>",
    "<IMG SRC=x OnErRoR={js}>",
    "<img/src=x/onerror={js}>",
    "<img\nsrc=x\nonerror={js}>",
    "<img\x0csrc=x\tonerror={js}>",
    "<scr\x00ipt>{js}</scr\x00ipt>",
    "<<script>{js}//<</script>",
    "<script\x20type=module>{js}</script>",
    "<![CDATA[<script>{js}</script>]]>",
    "<!--<img src=--><img src=x onerror={js}>//-->",
    "<!DOCTYPE x [<!ENTITY e SYSTEM '{url}'>]>&e;",
    "<?xml-stylesheet href='{url}'?>",
    "<plaintext>",
    "<xmp>",
    "<table><tr><td>",
    "</div></span></main>",
    "<!--",
    "<![CDATA[",
    "<textarea>",
    "<title>",
)
_TRICKS: Final = (
    # Out of an attribute.
    '" onmouseover={js} x="',
    "' onfocus={js} autofocus x='",
    "` onclick={js} `",
    '" style="background:url({url})',
    '" src="{url}" onerror="{js}',
    "&quot; onload={js} x=&quot;",
    '\\" onload={js}',
    'x" srcset="{url} 1x',
    # Entities, and bytes of other encodings.
    "&lt;script&gt;{js}&lt;/script&gt;",
    "&#60;img src=x onerror={js}&#62;",
    "&#x3c;img src=x onerror={js}&#x3E;",
    "&#0000060script&#0000062{js}",
    "&lt&gt&amp&quot",
    "&amp;lt;script&amp;gt;",
    "&Tab;&NewLine;&colon;&lpar;",
    "&ltimes;&notit;&NotEqualTilde;",
    "&#0;&#x80;&#xD800;&#x202e;&#27;[2J",
    "\uff1cscript\uff1e{js}\uff1c/script\uff1e",
    "+ADw-script+AD4-{js}+ADw-/script+AD4-",
    "\u00bcscript\u00be{js}",
    # Addresses.
    "javascript:{js}",
    "JaVaScRiPt:{js}",
    "java\tscript:{js}",
    " \x01javascript:{js}",
    "data:text/html,<script>{js}</script>",
    "data:image/svg+xml,<svg onload={js}>",
    "vbscript:msgbox",
    "{url}",
    "//{host}/x",
    "[x]({url})",
    "![x]({url})",
    "mailto:x@example.invalid?cc={url}",
    # Styles and strings of scripts.
    "}}*{{background:url({url})}}",
    ";background:url({url});",
    "expression({js})",
    "\\3c img src={url}\\3e",
    "@import '{url}';",
    "';{js};//",
    '";{js};//',
    "`;{js};`",
    "\\';{js};//",
    "\\u003cscript\\u003e{js}",
    # Templates, formats, shells.
    "{{{{constructor.constructor('{js}')()}}}}",
    "${{{js}}}",
    "#{{{js}}}",
    "<%= {js} %>",
    "{{% {js} %}}",
    "[[{js}]]",
    "{{0}} {{name}} {{0.__class__}}",
    "%s%n%(name)s%x",
    "$\\href{{{url}}}{{x}}$",
    "$HOME `id` $(id) ; id | id && id",
    "[bold red]x[/bold red] [link={url}]x[/link] [/]",
    ":warning: :bomb:",
    "__proto__",
    "constructor",
    "null",
    "NaN",
    "../../x",
    "C:\\x\\..\\CON",
    "-rf",
    "--help",
    "~ * ?",
    "%2e%2e%2f",
)

# Of a terminal: what follows ESC [, and what follows ESC ] up to its end.
_CSI: Final = (
    "2J 3J H 999;999H 5A 5B 5C 5D 1K 2K L M P @ X S T s u r 2;3r 4h 20h 6n 5n c >c =c 31m 5m 8m ?25l ?1049h "
    "?47h ?1000h "
    "?2004h ?5h ?6h ?7l 20t 21t 8;1;1t !p g 3g b 99b 1;2'z ?1l 38;2;1;2;3m "
)
_OSC: Final = (
    "0;owned 1;owned 2;owned 4;1;rgb:00/00/00 7;file:///owned 8;;{url} 9;owned 10;? 11;#000000 12;? 50;owned "
    "52;c;b3duZWQ= "
    "52;p;b3duZWQ= 52;c;? 104 110 133;A 777;notify;owned;x 1337;File=inline=1:b3duZWQ= 1337;SetMark"
)
_STRINGS: Final = (
    '\x1bP$q"p\x1b\\|\x1bP+q544e\x1b\\|\x1bPq#0;2;0;0;0~\x1b\\|\x1bPtmux;\x1b\x1b]2;owned\x07\x1b\\|\x90+q544e\x9c|'
    "\x1b_owned\x1b\\|\x1b^owned\x1b\\|\x1bXowned\x1b\\|\x1bkowned\x1b\\|\x9fowned\x9c|\x9eowned\x9c|\x98owned\x9c|\x1bc|"
    "\x1b7|\x1b8|\x1b(0|\x1b)0|\x1b#8|\x1b#3|\x1bM|\x1bD|\x1bE|\x1bH|\x1b=|\x1b>|\x1bZ|\x1b|\x1b\x1b|\x1b%G|\x1b%@"
    "|\x1b "
    ""
    ""
    ""
    ""
    ""
    "N|"
    "\x1bn|\x0e\x0f|\x18\x1a|\x05|\x84\x85\x8d|\x9b|\x9d0;|\x1b[\x1b]"
)
_MARKS: Final = (
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c\u200e\u200f"  # directions
    # no width
    "\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad\u034f\u115f\u180e\u3164\ufe0e\ufe0f\U000e0100"
    "\u2028\u2029\u00a0\u3000"  # separators
    # no characters, or nobody's
    "\ufff9\ufffa\ufffb\ufffc\ufffd\ufffe\uffff\U0001fffe\U0010ffff\ue000\U000e0001\U000e007f"
    "\ud800\udbff\udc00\udfff\udc80\udcff"  # halves of surrogates, of which files' names have the last two
)
_SPREADSHEET: Final = (
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    '=HYPERLINK("{url}","x")',
    '=IMPORTXML("{url}","//a")',
    '=WEBSERVICE("{url}")',
    "=cmd|'/c calc'!A0",
    "+cmd|'/c calc'!A0",
    "@cmd",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    '"=1+1',
    "x,=1+1",
    "x;=1+1",
    "x\n=1+1\ny",
    "\uff1d1+1",
    "|=1+1",
)
_PILES: Final = (
    "Z" + "\u0301" * 60,
    "Z" + "".join(chr(0x300 + place % 112) for place in range(300)),
    "\u0488" * 40,
    "\u0e47" * 90,
    "x" + "\ufe0f\u20e3" * 20,
    "\U0001f468" + "\u200d\U0001f469" * 30,
    "\U0001f1e6" * 31,
    "\ufdfd" * 20,
    "".join(chr(0xE0000 + ord(letter)) for letter in "ignore what was said before"),
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + "\U000e007f",
)
_LONG: Final = (
    "A" * 5000,
    "<" * 3000,
    "&" * 3000,
    "<b>" * 900,
    "\x1b[" * 900,
    "\u202e" * 900,
    "\u4e2d" * 1500,
    "\x07" * 500,
    "a " * 1500,
    "\n" * 40,
)
_BLANK: Final = (
    " ",
    "\t",
    "\u00a0",
    "\u2003",
    "\u200b\u200b",
    " x ",
    "x\ty",
    "x\ny",
    "x\r\ny",
    "x\ry",
    "x\x0by",
    "x\x0cy",
    "x\x85y",
    "x\x00y",
    "\x00",
)


def hostile_names(address: str = "http://127.0.0.1:9") -> tuple[str, ...]:
    """`COUNT` names, no two the same; ``address`` is asked by what is loaded or runs."""
    found: dict[str, None] = {}
    for place, pattern in enumerate(_patterns()):
        url = f"{address}/n{place}"
        js = f"top.{MARK}=new(Image)().src='{url}'"
        found[pattern.format(js=js, url=url, host=address.partition("//")[2])] = None
        if len(found) == COUNT:
            return tuple(found)
    raise AssertionError(f"only {len(found)} names")


def _patterns() -> Iterator[str]:
    """What `str.format` makes names of; those that stand alone first, then as many elements behind what closes as are
    needed.
    """
    yield from (*_ELEMENTS, *_MORE_ELEMENTS, *_TRICKS, *_SPREADSHEET)
    plain = (*(f"\x1b[{end}" for end in _CSI.split()), *_STRINGS.split("|"), *_PILES, *_LONG, *_BLANK)
    yield from (_literal(f"a{name}b" if name.strip() and len(name) < 400 else name) for name in plain)
    for place, end in enumerate(_OSC.split()):
        begin, stop = ("\x1b]", "\x9d")[place % 2], ("\x07", "\x1b\\", "\x9c", "")[place % 4]
        yield f"a{begin}{end}{stop}b"
    yield from (_literal(f"name{chr(code)}name") for code in (*range(1, 32), *range(127, 160)))
    yield from (_literal(f"photo{mark}gpj.exe") for mark in _MARKS)
    yield from (f"{closing}{element}" for element, closing in product(_ELEMENTS, _CLOSING[1:]))


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def harmless_names(names: Sequence[str]) -> tuple[str, ...]:
    """As many names, and about as long, that mean nothing."""
    return tuple(f"name {place}" + "x" * min(len(name), 40) for place, name in enumerate(names))


def file_names(names: Sequence[str]) -> list[str]:
    """The names as files can have them: without slashes, NULs and a dash at the front, of about 200 bytes at most,
    numbered.
    """
    made: list[str] = []
    for place, name in enumerate(names):
        kept = name.replace("/", "\u2215").replace("\0", "")
        whole = "".join(part if _is_encodable(part) else "" for part in kept)
        while len(os.fsencode(whole)) > 200:
            whole = whole[: len(whole) - max(1, (len(os.fsencode(whole)) - 200) // 4)]
        made.append(f"{'_' if whole.startswith('-') else ''}{whole}{place}")
    return made


def _is_encodable(character: str) -> bool:
    """Whether a file's name can hold it: halves of surrogates that stand for a byte can be."""
    return not 0xD800 <= ord(character) <= 0xDFFF or 0xDC80 <= ord(character) <= 0xDCFF


def in_packs(names: Sequence[str], size: Callable[[str], int], most: int) -> list[str]:
    """The names, one after another, in as few texts as have at most ``most``, of which each has ``size``."""
    packs: list[str] = []
    for name in names:
        if packs and size(packs[-1]) + size(name) <= most:
            packs[-1] += name
        else:
            packs.append(name)
    return packs


__all__ = ["COUNT", "MARK", "file_names", "harmless_names", "hostile_names", "in_packs"]
