"use strict";

/* The clip of an item, or the reason why it cannot be played. */
reprise.clip = (() => {
  const { make, makeText } = reprise.dom;

  /** Create the figure of a clip, and return it with its video, if there is one. */
  function show(clip) {
    const caption = makeText("figcaption", [clip.id, length(clip)].filter(Boolean).join(": "));
    if (!clip.media) {
      return { element: make("figure", { class: "clip" }, describeMissing(clip), caption), video: null };
    }
    const video = make("video", { controls: true, preload: "metadata", playsinline: true, src: clip.media });
    video.setAttribute("aria-label", `Clip ${clip.id}`);
    const element = make("figure", { class: "clip" }, video, caption);
    video.addEventListener("error", () => video.replaceWith(describeUnplayable(clip)), { once: true });
    video.addEventListener("loadedmetadata", () => makeSeekable(video).catch(() => undefined), { once: true });
    return { element, video };
  }

  function length({ seconds, frames, fps }) {
    const parts = [seconds && `${seconds.toFixed(1)} s`, frames && `${frames} frames`, fps && `${+fps.toFixed(3)} fps`];
    return parts.filter(Boolean).join(", ");
  }

  /** Describe why there is no video: a complete clip may be lost, or its licence may forbid to pass it on. */
  function describeMissing({ status, message }) {
    if (status === "ok") {
      return make("div", { class: "absent", role: "note" }, "This report does not contain the clip.");
    }
    return make("div", { class: "absent", role: "note" }, make("strong", {}, "The clip is missing: "), makeText("span", status),
      message ? makeText("p", message) : null);
  }

  function describeUnplayable({ media }) {
    const REASONS = "The file does not exist, or this browser cannot play it. ";
    const hint = location.protocol === "file:" ? "" : "A web server must also serve the store, or the report must contain copies of the clips (`report_clips: copy`). ";
    return make("div", { class: "absent", role: "note" }, make("strong", {}, "The clip cannot be played. "), REASONS, hint,
      make("a", { href: media }, decodeURIComponent(media)));
  }

  /** Load the whole video if the server does not support byte ranges, which seeking needs. If that fails, the video plays without seeking. */
  async function makeSeekable(video) {
    const { seekable, src } = video;
    if (location.protocol === "file:" || (seekable.length && seekable.end(seekable.length - 1) > 0)) {
      return;
    }
    const content = await fetch(src).then((response) => response.blob());
    const { paused } = video;
    video.src = URL.createObjectURL(content);
    if (!paused) {
      await video.play();
    }
  }

  return { show };
})();
