"use strict";

/* Keyboard shortcuts. None of them takes a key from a focused control that uses it. */
reprise.keys = (() => {
  const help = document.getElementById("keys");
  const grid = document.getElementById("grid");
  const TEXT_CONTROLS = "input, textarea, select, dialog";
  const BUTTONS = "button, a, summary, video, [role=toolbar]";

  const ANYWHERE = {
    j: () => reprise.grid.step(1),
    k: () => reprise.grid.step(-1),
    "/": () => reprise.controls.search.focus(),
    "?": () => help.showModal(),
    l: toList,
    Escape: toList,
  };
  const OUTSIDE_BUTTONS = {
    ArrowRight: () => reprise.grid.step(1),
    ArrowLeft: () => reprise.grid.step(-1),
    " ": playOrPause,
  };
  const IN_LIST = {
    ArrowDown: () => reprise.grid.step(1),
    ArrowUp: () => reprise.grid.step(-1),
    Enter: () => reprise.item.focus(),
  };

  function toList() {
    if (matchMedia("(max-width: 50rem)").matches) {
      reprise.hash.go({ item: "" });
    }
    reprise.grid.focus();
  }

  function playOrPause() {
    const video = reprise.item.video();
    if (video) {
      (video.paused ? video.play() : Promise.resolve(video.pause())).catch(() => undefined); // the clip shows why it cannot be played
    }
  }

  function action({ key, target }) {
    if (target.closest(TEXT_CONTROLS)) {
      return null;
    }
    const inList = grid.contains(target) && IN_LIST[key];
    return inList || ANYWHERE[key] || (!target.closest(BUTTONS) && OUTSIDE_BUTTONS[key]);
  }

  document.addEventListener("keydown", (event) => {
    const act = !event.ctrlKey && !event.metaKey && !event.altKey && action(event);
    if (act) {
      event.preventDefault();
      act();
    }
  });
  document.getElementById("show-keys").addEventListener("click", () => help.showModal());

  return {};
})();
