"use strict";

/* The clip of an item: played where it can be, else the reason why not. */
reprise.clip = (() => {
  const { make, given } = reprise.dom;

  /** The clip as a figure, and its video where there is one. */
  function show(clip) {
    const caption = given("figcaption", [clip.id, length(clip)].filter(Boolean).join(": "));
    if (!clip.media) {
      return { element: make("figure", { class: "clip" }, absent(clip), caption), video: null };
    }
    const video = make("video", { controls: true, preload: "metadata", playsinline: true, src: clip.media });
    video.setAttribute("aria-label", `Clip ${clip.id}`);
    const element = make("figure", { class: "clip" }, video, caption);
    video.addEventListener("error", () => video.replaceWith(unplayable(clip)), { once: true });
    video.addEventListener("loadedmetadata", () => makeSeekable(video).catch(() => undefined), { once: true });
    return { element, video };
  }

  function length({ seconds, frames, fps }) {
    const parts = [seconds && `${seconds.toFixed(1)} s`, frames && `${frames} frames`, fps && `${+fps.toFixed(3)} fps`];
    return parts.filter(Boolean).join(", ");
  }

  function absent({ status, message }) {
    return make("div", { class: "absent", role: "note" }, make("strong", {}, "The clip is missing here: "), given("span", status),
      message ? given("p", message) : null);
  }

  function unplayable({ media }) {
    const REASONS = "It is not at this address, or this browser cannot play it. ";
    const served = location.protocol === "file:" ? "" : "A web server shows the clips only where it serves the store too, or where the report holds copies of them. ";
    return make("div", { class: "absent", role: "note" }, make("strong", {}, "The clip cannot be played. "), REASONS, served,
      make("a", { href: media }, decodeURIComponent(media)));
  }

  /** A server without byte ranges gives a video that cannot be sought: it is then loaded whole. If that fails it plays as it is. */
  async function makeSeekable(video) {
    const { seekable, src } = video;
    if (location.protocol === "file:" || (seekable.length && seekable.end(seekable.length - 1) > 0)) {
      return;
    }
    const whole = await fetch(src).then((answer) => answer.blob());
    const { paused } = video;
    video.src = URL.createObjectURL(whole);
    if (!paused) {
      await video.play();
    }
  }

  return { show };
})();
