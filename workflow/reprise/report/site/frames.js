"use strict";

/* The frames that a model got: marks on a time line of the clip, and thumbnails that seek to their position in the clip. */
reprise.frames = (() => {
  const { make, makeText, countNoun } = reprise.dom;
  const [THUMB_HEIGHT, SCREEN_HEIGHT] = [108, 180];
  const MAX_COLUMNS = 16; // frames on one line in a wide window
  const FRAME_INTERVAL = 500; // milliseconds

  /** Create the figure of one sampling's frames. `times` refer to the clip, or to `otherVideo` for frames of another clip; `planned` are the times of the planned frames, and `models` names the models. */
  function show({ clip, times, planned, note, sampling, models, video, otherVideo }) {
    const source = otherVideo || (video && video.src);
    const seconds = clip.seconds || Math.max(0, ...times);
    const count = countNoun(times.length, "frame");
    const caption = make("figcaption", {}, makeText("strong", models), ` got ${count}${sampling === count ? "" : ` (${sampling})`}${note ? `: ${note}` : ""}`);
    const figure = make("figure", { class: "frames" }, caption);
    if (times.length) {
      figure.append(...thumbnails(times, otherVideo ? times : planned, otherVideo ? null : video, source, `Frames that ${models} got`));
    }
    if (times.length && video) {
      const screen = make("canvas", { class: "screen", hidden: true, height: SCREEN_HEIGHT, width: 0 });
      figure.prepend(screen);
      figure.append(otherVideo ? "" : timeline(times, seconds, video));
      figure.screen = { canvas: screen, times, source }; // for `play`
    }
    return figure;
  }

  /** Play the frames in the order in which the models got them, in all figures at once. */
  async function play(figures, button) {
    if (button.getAttribute("aria-pressed") === "true") {
      button.setAttribute("aria-pressed", "false");
      return;
    }
    button.setAttribute("aria-pressed", "true");
    const screens = figures.map(({ screen }) => screen).filter(Boolean).map((screen) => ({ ...screen, loading: loadVideo(screen.source) }));
    const count = Math.max(0, ...screens.map(({ times }) => times.length));
    for (let index = 0; index < count && button.isConnected && button.getAttribute("aria-pressed") === "true"; index += 1) {
      const drawn = screens.filter(({ times }) => index < times.length).map(async ({ canvas, times, loading }) => {
        await drawFrame(await loading, times[index], canvas);
        canvas.hidden = false;
      });
      await Promise.all([...drawn, new Promise((resolve) => setTimeout(resolve, FRAME_INTERVAL))]);
    }
    button.setAttribute("aria-pressed", "false");
  }

  /** Load a hidden video to draw frames from. */
  function loadVideo(source) {
    const hidden = make("video", { preload: "auto", src: source });
    hidden.muted = true;
    return new Promise((resolve) => hidden.addEventListener("loadeddata", () => resolve(hidden), { once: true }));
  }

  function timeline(times, seconds, video) {
    const line = make("div", { class: "timeline", "aria-hidden": "true" }, ...times.map((time) => placeAt(make("i"), time, seconds)));
    if (video) {
      const head = make("b");
      line.append(head);
      video.addEventListener("timeupdate", () => placeAt(head, video.currentTime, seconds));
      line.addEventListener("click", (event) => {
        const { left, width } = line.getBoundingClientRect();
        seek(video, ((event.clientX - left) / width) * seconds);
      });
    }
    return line;
  }

  /** Place an element at a time of the clip on the time line. */
  function placeAt(element, time, seconds) {
    element.style.left = `${seconds ? Math.min(100, (100 * time) / seconds) : 0}%`;
    return element;
  }

  function seek(video, time) {
    video.pause();
    video.currentTime = time;
  }

  /** Create a toolbar with one button per frame. The tab key stops at the toolbar once; arrows go from frame to frame. */
  function thumbnails(times, planned, video, source, label) {
    const buttons = times.map((time, index) => {
      const text = `${time.toFixed(2)} s`;
      const position = planned.indexOf(time);
      const name = `Frame ${index + 1} of ${times.length}, ${text}${position === index ? "" : `, number ${position + 1} in the planned order`}`;
      const attributes = { type: "button", tabindex: index ? "-1" : "0", "aria-label": name, disabled: !video };
      const button = make("button", { ...attributes, click: () => seek(video, time) },
        make("canvas", { height: THUMB_HEIGHT, width: THUMB_HEIGHT }), make("span", {}, make("b", {}, position + 1), ` ${text}`));
      button.style.setProperty("--at", (position + 1) / planned.length);
      return button;
    });
    const bar = make("div", { class: "thumbnails", role: "toolbar", "aria-label": label }, ...buttons);
    bar.style.setProperty("--columns", columnCount(times.length));
    bar.addEventListener("keydown", (event) => moveFocus(event, buttons));
    const reason = make("p", { class: "note", role: "note", hidden: true });
    if (source) {
      drawThumbnails(buttons, times, source, () => showReason(buttons, reason, "The clip cannot be played"));
    } else {
      showReason(buttons, reason, "There is no clip");
    }
    return [reason, bar];
  }

  /** Show why there are no thumbnails; the times stay. */
  function showReason(buttons, element, reason) {
    element.textContent = `${reason}: only the times of the frames are known.`;
    element.hidden = false;
    for (const button of buttons) {
      button.disabled = true;
      button.querySelector("canvas").replaceWith(make("span", { class: "no-picture" }, "no picture"));
    }
  }

  /** Return the number of frames on a line, so that all lines but the last are full. */
  function columnCount(count) {
    return Math.ceil(count / Math.ceil(count / MAX_COLUMNS));
  }

  function moveFocus(event, buttons) {
    const offset = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = buttons[buttons.indexOf(document.activeElement) + offset];
    if (!offset) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    if (next) {
      buttons.forEach((button) => button.setAttribute("tabindex", button === next ? "0" : "-1"));
      next.focus();
    }
  }

  /** Draw the visible thumbnails one after the other, from a second, hidden video. */
  function drawThumbnails(buttons, times, source, fail) {
    const hidden = make("video", { preload: "auto", src: source });
    hidden.muted = true;
    hidden.addEventListener("error", fail, { once: true });
    let queue = new Promise((resolve) => hidden.addEventListener("loadeddata", resolve, { once: true }));
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) {
          observer.unobserve(target);
          queue = queue.then(() => drawFrame(hidden, times[buttons.indexOf(target)], target.querySelector("canvas")));
        }
      }
    });
    buttons.forEach((button) => observer.observe(button));
  }

  /** Seek a hidden video to a time, and draw its frame on the canvas. */
  function drawFrame(hidden, time, canvas) {
    return new Promise((resolve) => {
      hidden.addEventListener("seeked", () => {
        canvas.width = Math.round((canvas.height * hidden.videoWidth) / hidden.videoHeight) || canvas.width;
        canvas.getContext("2d").drawImage(hidden, 0, 0, canvas.width, canvas.height);
        resolve();
      }, { once: true });
      hidden.currentTime = time;
    });
  }

  return { show, play, loadVideo, drawFrame, columnCount };
})();
