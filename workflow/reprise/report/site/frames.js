"use strict";

/* The frames that a model saw: marks on a line of the clip's length, and small pictures that lead to their place in the clip. */
reprise.frames = (() => {
  const { make, given, counted } = reprise.dom;
  const [THUMB_HEIGHT, SCREEN_HEIGHT] = [54, 180];
  const BETWEEN = 500; // milliseconds from picture to picture

  /** The frames of one sampling as a figure: `at` is where each is in the clip or in `another`, `who` are the models that saw them. */
  function show({ clip, at, note, sampling, who, video, another }) {
    const source = another || (video && video.src);
    const seconds = clip.seconds || Math.max(0, ...at);
    const caption = make("figcaption", {}, given("strong", who), ` saw ${counted(at.length, "frame")} (${sampling})${note ? `: ${note}` : ""}`);
    const figure = make("figure", { class: "frames" }, caption);
    if (at.length) {
      figure.append(...pictures(at, another ? null : video, source, `Frames that ${who} saw`));
    }
    if (at.length && video) {
      const screen = make("canvas", { class: "screen", hidden: true, height: SCREEN_HEIGHT, width: 0 });
      figure.prepend(screen);
      figure.append(another ? "" : strip(at, seconds, video));
      figure.screen = { canvas: screen, at, source };
    }
    return figure;
  }

  /** Play what was shown, picture by picture, as models got it: all figures at once, beside each other. */
  async function play(figures, button) {
    if (button.getAttribute("aria-pressed") === "true") {
      button.setAttribute("aria-pressed", "false");
      return;
    }
    button.setAttribute("aria-pressed", "true");
    const screens = figures.map(({ screen }) => screen).filter(Boolean).map((one) => ({ ...one, hidden: loaded(one.source) }));
    const last = Math.max(0, ...screens.map(({ at }) => at.length));
    for (let place = 0; place < last && button.isConnected && button.getAttribute("aria-pressed") === "true"; place += 1) {
      const shown = screens.filter(({ at }) => place < at.length).map(async ({ canvas, at, hidden }) => {
        await picture(await hidden, at[place], canvas);
        canvas.hidden = false;
      });
      await Promise.all([...shown, new Promise((resolve) => setTimeout(resolve, BETWEEN))]);
    }
    button.setAttribute("aria-pressed", "false");
  }

  /** A video that nobody sees, once it can be drawn from. */
  function loaded(source) {
    const hidden = make("video", { preload: "auto", src: source });
    hidden.muted = true;
    return new Promise((resolve) => hidden.addEventListener("loadeddata", () => resolve(hidden), { once: true }));
  }

  function strip(times, seconds, video) {
    const line = make("div", { class: "strip", "aria-hidden": "true" }, ...times.map((time) => at(make("i"), time, seconds)));
    if (video) {
      const head = make("b");
      line.append(head);
      video.addEventListener("timeupdate", () => at(head, video.currentTime, seconds));
      line.addEventListener("click", (event) => {
        const { left, width } = line.getBoundingClientRect();
        seek(video, ((event.clientX - left) / width) * seconds);
      });
    }
    return line;
  }

  function at(element, time, seconds) {
    element.style.left = `${seconds ? Math.min(100, (100 * time) / seconds) : 0}%`;
    return element;
  }

  function seek(video, time) {
    video.pause();
    video.currentTime = time;
  }

  /** One button a frame; together one stop of the tab key, arrows go from frame to frame. */
  function pictures(times, video, source, label) {
    const buttons = times.map((time, place) => {
      const text = `${time.toFixed(2)} s`;
      const attributes = { type: "button", tabindex: place ? "-1" : "0", "aria-label": `Frame ${place + 1} of ${times.length}, ${text}`, disabled: !video };
      return make("button", { ...attributes, click: () => seek(video, time) }, make("canvas", { height: THUMB_HEIGHT, width: 96 }), text);
    });
    const bar = make("div", { class: "pictures", role: "toolbar", "aria-label": label }, ...buttons);
    bar.addEventListener("keydown", (event) => move(event, buttons));
    const reason = make("p", { class: "note", role: "note", hidden: true });
    if (source) {
      draw(buttons, times, source, () => giveUp(buttons, reason, "The clip cannot be played"));
    } else {
      giveUp(buttons, reason, "The clip is missing here");
    }
    return [reason, bar];
  }

  /** Say why there are no pictures; the times remain. */
  function giveUp(buttons, reason, why) {
    reason.textContent = `${why}: of the frames only the times are known.`;
    reason.hidden = false;
    for (const button of buttons) {
      button.disabled = true;
      button.querySelector("canvas").replaceWith(make("span", { class: "no-picture" }, "no picture"));
    }
  }

  function move(event, buttons) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = buttons[buttons.indexOf(document.activeElement) + by];
    if (!by) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    if (next) {
      buttons.forEach((button) => button.setAttribute("tabindex", button === next ? "0" : "-1"));
      next.focus();
    }
  }

  /** Draw the pictures that come into sight, one after the other, from a second video that nobody sees. */
  function draw(buttons, times, source, fail) {
    const hidden = make("video", { preload: "auto", src: source });
    hidden.muted = true;
    hidden.addEventListener("error", fail, { once: true });
    let work = new Promise((resolve) => hidden.addEventListener("loadeddata", resolve, { once: true }));
    const seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) {
          seen.unobserve(target);
          work = work.then(() => picture(hidden, times[buttons.indexOf(target)], target.querySelector("canvas")));
        }
      }
    });
    buttons.forEach((button) => seen.observe(button));
  }

  function picture(hidden, time, canvas) {
    return new Promise((resolve) => {
      hidden.addEventListener("seeked", () => {
        canvas.width = Math.round((canvas.height * hidden.videoWidth) / hidden.videoHeight) || canvas.width;
        canvas.getContext("2d").drawImage(hidden, 0, 0, canvas.width, canvas.height);
        resolve();
      }, { once: true });
      hidden.currentTime = time;
    });
  }

  return { show, play };
})();
