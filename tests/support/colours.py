"""Colours as WCAG 2 measures them, written ``#rrggbb``."""


def luminance(colour: str) -> float:
    """Relative luminance, from 0 for black to 1 for white."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """From 1 for equal colours to 21 for black and white."""
    least, most = sorted((luminance(one), luminance(other)))
    return (most + 0.05) / (least + 0.05)


def over(colour: str, opacity: float, paper: str) -> str:
    """``colour`` on ``paper``, mixed as a browser does."""
    mixed = [opacity * int(colour[at : at + 2], 16) + (1 - opacity) * int(paper[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(part):02x}" for part in mixed)
