import pytest
from effort import cheap
from hypothesis import given
from hypothesis import strategies as st

from typednn.errors import DefinitionError
from typednn.shapes import Dim, evaluate, unknown, write

ATTRIBUTES = {
    "self.k": 5,
    "self.kernel_size[0]": 3,
    "self.pair[-1]": 4,
    "self.a.b": 2,
    "self.p": -1,
    "self.one": 1,
    "self.zero": 0,
}


def attributes(path: str) -> Dim | None:
    return Dim.of(ATTRIBUTES[path]) if path in ATTRIBUTES else None


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("7", "7"),
        ("h", "h"),
        ("h-{self.k}", "h-5"),
        ("(h-{self.kernel_size[0]})//{self.a.b}+1", "(h-3)//2+1"),
        ("{self.pair[-1]}", "4"),
        ("{self.k//self.a.b}", "2"),
        ("{self.k*self.a.b+1}*h", "11*h"),
        ("min({self.k},4)", "4"),
        ("max({self.k},4,9)", "9"),
        ("abs(-3)", "3"),
        ("{max(self.k,9)}", "9"),
        ("2**{self.k}", "32"),
        ("7%3", "1"),
        ("h%2", "h-2*(h//2)"),
        ("h-{self.p}", "h+1"),
        ("{self.p}**2", "-1"),  # pasted as text: -1**2
        ("{self.p**2}", "1"),
        ("(-1)**2", "1"),
        ("(-2)**3", "-8"),
        ("-h", "-h"),
    ],
)
def test_known(text: str, result: str) -> None:
    dim = evaluate(text, Dim.named, attributes)
    assert dim is not None
    assert str(dim) == result


@pytest.mark.parametrize(
    "text",
    [
        "{self.missing}",
        "h+{self.missing}",
        "{self.call()}",
        "{self.k/2}",
        "{'k'}".replace("'", '"'),
        "{True}",
        "{1.5}",
        "{min(self.k)}",
        "{abs(self.k,1)}",
        "{max()}",
        "h//0",
        "h//{self.zero}",
        "5%0",
        "2**h",
        "h**2",
        "2**-1",
        "min(h,3)",
    ],
)
def test_unknown_is_none(text: str) -> None:
    assert evaluate(text, Dim.named, attributes) is None


def test_names_that_are_not_bound_are_unknown() -> None:
    assert evaluate("h+1", unknown) is None
    assert evaluate("h+w", {"h": Dim.of(3)}.get) is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("(h", "not an expression; balance its brackets and write it without spaces"),
        ("h)", "not an expression"),
        ("{self.k", "not an expression"),
        ("h-", "not an expression"),
        ("", "not an expression"),
        ("h{self.k}", "not an expression"),
        ("{self.k}{self.k}", "not an expression"),
        ("{self.k!r}", "not an expression"),
        ("h\x00", "not an expression"),
        ("(" * 300 + "h" + ")" * 300, "not an expression"),
        ("-" * 5000 + "h", "not an expression"),
        ("h - 1", "spaces, # and quotes cannot stand inside"),
        ("h#2", "spaces, # and quotes cannot stand inside"),
        ("{self.d['a']}", "spaces, # and quotes cannot stand inside"),
        ("class", "a Python keyword cannot name an axis"),
        ("+h", "sizes are integers, names and {self.…} joined by + - * // % ** or in min, max, abs, got +h"),
        ("h/2", "got h / 2"),
        ("h.w", "got h.w"),
        ("h[0]", "got h[0]"),
        ("1.5", "got 1.5"),
        ("True+1", "got True"),
        ("f(h)", "got f(h)"),
        ("min(h)", "got min(h)"),
        ("abs(h,w)", "got abs(h, w)"),
        ("max(*h,w)", "got *h"),
        ("max(h,w,key=h)", "got max(h, w, key=h)"),
        ("{self.k}(h)", "got {self.k}(h)"),
        ("{self.k}.w", "got {self.k}.w"),
        ("{{self.k}}", "got {{self.k}}"),
        ("{}", "got {}"),
        ("{self.k:d}", "got {self.k: d}"),
        ("{self.k,h}", "got {self.k, h}"),
        ("h,w", "got (h, w)"),
        ("h<w", "got h < w"),
        ("(h:=w)", "got (h := w)"),
        ("lambda:h", "got lambda: h"),
        ("h@w", "got h @ w"),
        ("~h", "got ~h"),
    ],
)
def test_malformed(text: str, complaint: str) -> None:
    with pytest.raises(DefinitionError) as error:
        evaluate(text, Dim.named, attributes)
    assert complaint in str(error.value)
    assert f'axis "{text}": ' in str(error.value)


@cheap
@given(st.text(alphabet="hw12*+-/%(){}[].,_=#?'\"self :!\\~<é²", max_size=14))
def test_any_text_is_a_size_or_unknown_or_refused(text: str) -> None:
    try:
        dim = evaluate(text, Dim.named, attributes)
    except DefinitionError:
        return
    assert dim is None or isinstance(dim, Dim)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("height*width*channels", "5*5*16"),
        ("(height-{self.kernel_size[0]})//{self.one}+1", "5-3+1"),
        ("(height-{self.kernel_size[0]})//{self.a.b}+1", "(5-3)//2+1"),
        ("(height+2*{self.zero}-{self.k})//{self.one}+1", "5-5+1"),
        ("{self.zero}*2+height", "5"),
        ("(height+2*{self.zero}-{self.one}*({self.k}-1)-1)//{self.one}+1", "5-5+1"),
        ("(height+2*{self.one}-{self.a.b}*({self.k}-1)-1)//{self.a.b}+1", "(5+2-9)//2+1"),
        ("height-1-{self.k}-{self.one}", "5-7"),
        ("height-width-channels", "5-5-16"),
        ("height-width-1-{self.k}", "5-5-6"),
        ("height-(width-1)", "5-(5-1)"),
        ("height-{self.missing}-1-1", "5-missing-2"),
        ("height-{self.missing}", "5-missing"),
        ("height-{self.k*self.missing}", "5-k*missing"),
        ("height*time", "5*time"),
        ("depth*height", "(rows-1)*5"),
        ("-height", "-5"),
        ("min(height,{self.k})", "min(5,5)"),
        ("{self.k}", "5"),
    ],
)
def test_write(text: str, written: str) -> None:
    names = {"height": Dim.of(5), "width": Dim.of(5), "channels": Dim.of(16), "depth": Dim.named("rows") - 1}
    assert write(text, names.get, attributes) == written


def test_reading_is_not_changed_by_writing() -> None:
    assert write("height-{self.k}", {"height": Dim.of(9)}.get, attributes) == "9-5"
    assert str(evaluate("height-{self.k}", Dim.named, attributes)) == "height-5"
