"use strict";

/* The frames that a model saw: marks on a line of the clip's length, and small pictures that lead to their place in the clip. */
reprise.frames = (() => {
  const { make, given, counted } = reprise.dom;
  const THUMB_HEIGHT = 54;

  /** The frames of one sampling as a figure; `who` are the models that saw them. */
  function show({ clip, times, note, sampling, who, video }) {
    const seconds = clip.seconds || Math.max(0, ...times);
    const caption = make("figcaption", {}, given("strong", who), ` saw ${counted(times.length, "frame")} (${sampling})`);
    const figure = make("figure", { class: "frames" }, caption);
    if (note) {
      figure.append(given("p", note, { class: "note" }));
    }
    if (times.length) {
      figure.append(strip(times, seconds, video), ...pictures(times, video, `Frames that ${who} saw`));
    }
    return figure;
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
  function pictures(times, video, label) {
    const buttons = times.map((time, place) => {
      const text = `${time.toFixed(2)} s`;
      const attributes = { type: "button", tabindex: place ? "-1" : "0", "aria-label": `Frame ${place + 1} of ${times.length}, ${text}`, disabled: !video };
      return make("button", { ...attributes, click: () => seek(video, time) }, make("canvas", { height: THUMB_HEIGHT, width: 96 }), text);
    });
    const bar = make("div", { class: "pictures", role: "toolbar", "aria-label": label }, ...buttons);
    bar.addEventListener("keydown", (event) => move(event, buttons));
    const reason = make("p", { class: "note", role: "note", hidden: true });
    if (video) {
      draw(buttons, times, video.src, () => giveUp(buttons, reason, "The clip cannot be played"));
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
        canvas.width = Math.round((THUMB_HEIGHT * hidden.videoWidth) / hidden.videoHeight) || canvas.width;
        canvas.getContext("2d").drawImage(hidden, 0, 0, canvas.width, canvas.height);
        resolve();
      }, { once: true });
      hidden.currentTime = time;
    });
  }

  return { show };
})();
