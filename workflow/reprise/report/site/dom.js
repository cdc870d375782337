"use strict";

/* The only place that creates elements. It sets content as text, so markup in data never becomes markup of the page. */
reprise.dom = (() => {
  const MAX_ID = 28; // characters of an item's id in lists

  /** Create an element. Attributes that are null or false are left out; functions become event listeners. */
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

  /** Create an element with a text from data, which has its own writing direction. */
  function makeText(tag, text, attributes = {}) {
    return make(tag, { dir: "auto", ...attributes }, text);
  }

  const number = new Intl.NumberFormat("en");

  /** Format a count with thousands separators. */
  function count(value) {
    return number.format(value);
  }

  /** Format a count with its noun: "1 item", "2 items". */
  function countNoun(value, noun) {
    return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
  }

  /** Shorten the id of an item to its end, because the ids of a benchmark's items start alike. */
  function shortenId(id) {
    return id.length > MAX_ID ? `...${id.slice(-MAX_ID)}` : id;
  }

  return { make, makeText, count, countNoun, shortenId };
})();
