"use strict";

/* The address after # holds the whole state of the page. Links can therefore be shared, and the back button works. */
reprise.hash = (() => {
  // `b` is the benchmark, `other` the second run, `show` the kind of items, and `q` the searched words.
  const NAMES = ["b", "task", "group", "run", "other", "metric", "show", "q", "item", "provenance"];

  /** Return the state in an address; a name that the address lacks gets an empty text. */
  function parse(hash) {
    const state = Object.fromEntries(NAMES.map((name) => [name, ""]));
    for (const part of hash.replace(/^#/, "").split("&")) {
      const separator = part.indexOf("=");
      const name = part.slice(0, separator);
      if (separator > 0 && NAMES.includes(name)) {
        state[name] = decode(part.slice(separator + 1));
      }
    }
    return state;
  }

  /** Return the address of a state; slashes stay readable. */
  function format(state) {
    const parts = NAMES.filter((name) => state[name]).map((name) => `${name}=${encode(state[name])}`);
    return `#${parts.join("&")}`;
  }

  function encode(text) {
    return encodeURIComponent(text.toWellFormed ? text.toWellFormed() : text).replaceAll("%2F", "/");
  }

  function decode(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // a truncated link
    }
  }

  /** Return the state of the page. */
  function state() {
    return parse(location.hash);
  }

  /** Change entries of the state. With `replace` the previous state leaves the history, for steps that need no back button. */
  function go(changes, { replace = false } = {}) {
    const address = format({ ...state(), ...changes });
    if (address === location.hash) {
      return;
    }
    if (replace) {
      location.replace(address);
    } else {
      location.hash = address;
    }
  }

  return { parse, format, state, go };
})();
