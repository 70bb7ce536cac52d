// Small helpers for elements.

// el makes an element. Attributes that are null are left out; children are elements or text.
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

// svg makes an element of a drawing.
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function fill(e, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}

// say sets the text of an element, if it is another: so nothing is announced or laid out again without need.
export function say(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

export function set(e, attribute, value) {
  if (e.getAttribute(attribute) !== String(value)) e.setAttribute(attribute, value);
}
