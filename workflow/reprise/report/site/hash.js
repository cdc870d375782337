"use strict";

/* The address after # holds the whole state of the page, so that a link can be shared and the back button works. */
reprise.hash = (() => {
  const NAMES = ["b", "task", "group", "run", "other", "metric", "show", "q", "item", "made"];

  /** The state that an address holds: every name, empty where the address is silent. */
  function parse(hash) {
    const state = Object.fromEntries(NAMES.map((name) => [name, ""]));
    for (const part of hash.replace(/^#/, "").split("&")) {
      const place = part.indexOf("=");
      const name = part.slice(0, place);
      if (place > 0 && NAMES.includes(name)) {
        state[name] = decoded(part.slice(place + 1));
      }
    }
    return state;
  }

  /** The address of a state; slashes stay readable. */
  function format(state) {
    const parts = NAMES.filter((name) => state[name]).map((name) => `${name}=${encoded(state[name])}`);
    return `#${parts.join("&")}`;
  }

  function encoded(text) {
    return encodeURIComponent(text.toWellFormed ? text.toWellFormed() : text).replaceAll("%2F", "/");
  }

  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // a link that somebody cut: what is left of it is looked up as it stands
    }
  }

  /** The state of the page. */
  function state() {
    return parse(location.hash);
  }

  /** Go to a state that differs by these entries; a step that nobody goes back to replaces the one before. */
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
