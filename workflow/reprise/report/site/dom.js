"use strict";

/* Elements are made here only, and what they say is set as text: markup in data never becomes markup of the page. */
reprise.dom = (() => {
  /** An element; attributes that are null or false are left out, functions listen to events. */
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") {
        element.addEventListener(name, value);
      } else if (value !== null && value !== undefined && value !== false) {
        element.setAttribute(name, value === true ? "" : value);
      }
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  /** A text from data: its own direction, its line ends kept by the style. */
  function given(tag, text, attributes = {}) {
    return make(tag, { dir: "auto", ...attributes }, text);
  }

  const number = new Intl.NumberFormat("en");

  /** A count as people read it. */
  function count(value) {
    return number.format(value);
  }

  /** "1 item", "2 items". */
  function counted(value, noun) {
    return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
  }

  return { make, given, count, counted };
})();
