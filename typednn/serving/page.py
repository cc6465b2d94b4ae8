"""The page of a served run: a form with a field for each column, a place for an image, or a box for a text.

It loads nothing: style and script stand in the page, and a content security policy allows these two alone. Names from
the run are escaped, and what the server answers is shown as text.
"""

import base64
import hashlib
from typing import Final

from typednn.data import Encoding
from typednn.html import escaped
from typednn.recipes import Predictor
from typednn.reports.page_style import page_style

_STYLE: Final = (
    page_style()
    + """
form{display:grid;gap:1rem;margin:1rem 0}
.fields{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(12rem,100%),1fr));gap:.8rem}
label{display:grid;gap:.2rem;min-width:0;overflow-wrap:anywhere}
label.check{grid-template-columns:auto 1fr;gap:.5rem;align-items:center}
input,textarea,button{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--soft);
 border-radius:8px;padding:.5rem .7rem;width:100%}
label.check input{width:auto}
textarea{min-height:8rem;resize:vertical}
button{background:var(--link);border-color:var(--link);color:var(--paper);font-weight:600;cursor:pointer;width:auto;
 justify-self:start;padding:.5rem 1.4rem}
button:disabled{opacity:.5;cursor:default}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.drop{border:2px dashed var(--soft);border-radius:8px;padding:1.5rem;text-align:center;cursor:pointer}
.drop.over{background:var(--card);border-color:var(--link)}
#shown{max-width:100%;min-width:6rem;max-height:16rem;justify-self:start}
#error{background:var(--warn);border:1px solid var(--line);border-radius:8px;padding:.6rem .8rem;overflow-wrap:anywhere}
#error:empty{display:none}
.best{font-size:1.7rem;font-weight:600;margin:.6rem 0;overflow-wrap:anywhere}
.share{display:grid;grid-template-columns:minmax(0,2fr) 3fr 4.5rem;gap:.6rem;align-items:center;margin:.3rem 0}
.share span{overflow-wrap:anywhere}.share :last-child{text-align:right;font-variant-numeric:tabular-nums}
progress{width:100%;height:.8rem;accent-color:var(--link)}
"""
)
_SCRIPT: Final = """
const form = document.querySelector('form'), reads = form.dataset.reads, button = form.querySelector('button')
const error = document.querySelector('#error'), answer = document.querySelector('#answer')
const made = (tag, text = '', name = '') =>
  Object.assign(document.createElement(tag), {textContent: text, className: name})
const number = text => text.trim() === '' ? null : Number.isNaN(Number(text)) ? text : Number(text)
function request() {
  const json = data => ({headers: {'content-type': 'application/json'}, body: JSON.stringify(data)})
  const text = form.querySelector('textarea')?.value
  if (reads === 'image') {
    const file = form.querySelector('input[type=file]').files[0]
    return {headers: {'content-type': file.type || 'application/octet-stream'}, body: file}
  }
  if (reads === 'text') return json(text)
  if (reads === 'prompt') {
    const options = [...form.querySelectorAll('input, select')].map(input => [input.name, number(input.value)])
    return json({prompt: text, ...Object.fromEntries(options.filter(([, value]) => value !== null))})
  }
  if (text !== undefined)
    return json(text.trim().split('\\n').map(line => line.trim().split(/[\\s,;]+/).map(number)))
  return json([[...form.querySelectorAll('input, select')].map(input => number(input.value))])
}
function show(told) {
  if (told.remark) answer.append(made('p', told.remark, 'note'))
  if (told.text !== undefined) answer.append(made('pre', told.text, 'text'))
  for (const one of told.predictions || []) {
    if (one.values) {
      answer.append(made('p', one.values.map(value => Number(value.toPrecision(6))).join(', '), 'best'))
      continue
    }
    answer.append(made('p', one.name, 'best'))
    for (const [name, share] of Object.entries(one.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 10)) {
      const row = made('div', '', 'share'), bar = made('progress')
      bar.max = 1
      bar.value = share
      bar.setAttribute('aria-hidden', 'true')
      row.append(made('span', name), bar, made('span', `${(100 * share).toFixed(1)} %`))
      answer.append(row)
    }
  }
}
form.addEventListener('submit', async event => {
  event.preventDefault()
  error.textContent = ''
  button.disabled = true
  try {
    const invert = form.querySelector('#invert')?.checked ? '?invert=1' : ''
    const response = await fetch('predict' + invert, {method: 'POST', ...request()})
    const told = await response.json()
    answer.replaceChildren()
    if (response.ok) show(told)
    else error.textContent = told.error
  } catch (problem) {
    error.textContent = `The server does not answer: ${problem.message}`
  }
  button.disabled = false
})
const file = form.querySelector('input[type=file]')
if (file) {
  const drop = file.closest('label'), image = form.querySelector('#shown')
  file.addEventListener('change', () => {
    URL.revokeObjectURL(image.src)
    image.hidden = !file.files.length
    if (file.files.length) {
      image.src = URL.createObjectURL(file.files[0])
      form.requestSubmit()
    }
  })
  form.querySelector('#invert')?.addEventListener('change', () => file.files.length && form.requestSubmit())
  for (const kind of ['dragover', 'dragleave', 'drop'])
    drop.addEventListener(kind, event => {
      event.preventDefault()
      drop.classList.toggle('over', kind === 'dragover')
      if (kind === 'drop' && event.dataTransfer.files.length) {
        file.files = event.dataTransfer.files
        file.dispatchEvent(new Event('change'))
      }
    })
}
"""


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY: Final = (
    f"default-src 'none'; script-src {_digest(_SCRIPT)}; style-src {_digest(_STYLE)}; connect-src 'self'; "
    "img-src blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The content security policy of the page."""


def page_of(predictor: Predictor) -> str:
    """The page for a run."""
    title = escaped(predictor.folder.resolve().name)
    words = escaped(" · ".join(f"{name}: {value}" for name, value in predictor.facts().items()))
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<header><h1>{title}</h1><p>{words}</p></header>
<main>
<form data-reads="{predictor.reads}">
{_fields(predictor)}
<button>{"Generate" if predictor.reads == "prompt" else "Predict"}</button>
</form>
<noscript><p>The form needs JavaScript; <code>POST /predict</code> does not.</p></noscript>
<p id="error" role="alert"></p>
<div id="answer" aria-live="polite"></div>
</main>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _fields(predictor: Predictor) -> str:
    """What an input is written in."""
    if predictor.reads == "image":
        grey = predictor.plan.shape[-1] == 1
        invert = '<label class="check"><input type="checkbox" id="invert"><span>dark on light</span></label>\n'
        return (
            '<label class="drop">Drop an image here, or choose one'
            '<input type="file" accept="image/*" required></label>\n'
            f'{invert if grey else ""}<img id="shown" alt="the chosen image" hidden>'
        )
    if predictor.reads == "rows" and predictor.columns:
        fields = "\n".join(_field(name, predictor.plan.encoding) for name in predictor.columns)
        return f'<div class="fields">\n{fields}\n</div>'
    words = {
        "rows": f"Rows of {predictor.sizes[0]:,} numbers, one a line",
        "text": "A text",
        "prompt": "What the text begins with",
    }[predictor.reads]
    required = "" if predictor.reads == "prompt" else " required"
    box = f'<label>{words}<textarea{required} spellcheck="false"></textarea></label>'
    if predictor.reads != "prompt":
        return box
    options = {"max_new_tokens": ("tokens", "100"), "temperature": ("temperature", "1"), "seed": ("seed", "0")}
    fields = "\n".join(
        f'<label>{words}<input name="{name}" value="{value}" inputmode="decimal"></label>'
        for name, (words, value) in options.items()
    )
    return f'{box}\n<div class="fields">\n{fields}\n</div>'


def _field(name: str, encoding: Encoding | None) -> str:
    """What one column is written in: words are proposed, dates have their form, and a gap may stay empty."""
    found = None if encoding is None else next(each for each in encoding.columns if each.name == name)
    if found is None or encoding is None or encoding.is_plain:
        return f'<label>{escaped(name)}<input inputmode="decimal" autocomplete="off" required></label>'
    needed = " required" if found.fill is None else ""
    if found.kind == "words":
        words = "".join(f"<option>{escaped(word)}</option>" for word in ("", *found.words))
        return f"<label>{escaped(name)}<select{needed}>{words}</select></label>"
    about = f'placeholder="{escaped(found.form)}"' if found.kind == "date" else 'inputmode="decimal"'
    return f'<label>{escaped(name)}<input {about} autocomplete="off"{needed}></label>'
