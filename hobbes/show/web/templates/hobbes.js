// The script of the pages of hobbes. Every key is that of a control which can be seen (data-key), and the
// page of a run moves through its turns without being loaded again. All of it can be read without this script.
"use strict";
const hobbes = (() => {
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Space: "space" };

  // --- keys

  function keys() {
    const dialog = document.querySelector("dialog");
    const help = document.querySelector('[data-key="?"]');
    help.hidden = false;
    help.addEventListener("click", () => {
      if (dialog.open) {
        dialog.close();
        return;
      }
      const rows = all("[data-key]").flatMap((control) => {
        const key = document.createElement("dt");
        const meaning = document.createElement("dd");
        key.textContent = NAMES[control.dataset.key] || control.dataset.key;
        meaning.textContent = control.title || control.textContent.trim();
        return [key, meaning];
      });
      dialog.querySelector("dl").replaceChildren(...rows);
      dialog.showModal();
    });
    document.addEventListener("keydown", (event) => {
      const at = event.target;
      const key = event.key === " " ? "Space" : event.key;
      const types = at.matches("select, input:not([type=radio], [type=checkbox], [type=range])");
      if (event.ctrlKey || event.altKey || event.metaKey || types) return;
      if (key.startsWith("Arrow") && at.matches("[type=radio]")) return;
      if (key === "Space" && at.matches("button, a, summary, input:not([type=range])")) return;
      if (dialog.open && key !== "?") return;
      const control = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
      if (!control) return;
      event.preventDefault();
      if (control.matches("select")) {
        control.selectedIndex = (control.selectedIndex + 1) % control.length;
        control.dispatchEvent(new Event("change", { bubbles: true }));
      } else control.click();
    });
  }

  // --- turns: `kept` holds the last few, or promises of them, so that going back and forth asks for nothing

  const kept = new Map();
  const MAX_KEPT = 60;
  const arriving = new Map();

  function keep(turn, html) {
    kept.set(turn, html);
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value);
    html.catch(() => kept.delete(turn));
  }

  async function served(address) {
    const answer = await fetch(address).catch(() => {
      throw new Error("this page is no longer served; start `hobbes view` again");
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text;
  }

  // A page on disk may not fetch, but it may run a script beside it, which calls `hobbes.moment`.
  function onDisk(address, turn) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const end = () => {
        arriving.delete(turn);
        script.remove();
        reject(new Error(`turn ${turn} is missing in this folder`)); // unless it has arrived
      };
      arriving.set(turn, resolve);
      script.addEventListener("error", end);
      script.addEventListener("load", end);
      script.src = address;
      document.head.append(script);
    });
  }

  function said(text) {
    const told = document.createElement("p");
    told.className = "warning";
    told.textContent = text;
    return told.outerHTML;
  }

  // Only what belongs to one agent is not faded; without a name, nothing is.
  function focusOn(agent) {
    for (const one of all("[data-of]")) one.classList.toggle("faded", Boolean(agent) && one.dataset.of !== agent);
  }

  // The turn at which the mouse is in a plot of so many turns.
  function turnAt(plot, turns, event) {
    const box = plot.getBoundingClientRect();
    return Math.max(0, Math.min(turns - 1, Math.floor((turns * (event.clientX - box.left)) / box.width)));
  }

  function timeline(section) {
    const main = document.querySelector("main");
    const turns = Number(section.dataset.turns);
    const moment = document.querySelector("#moment");
    const range = section.querySelector("[type=range]");
    const play = section.querySelector('[data-go="play"]');
    const pace = section.querySelector("[data-pace-shown]");
    const kind = section.querySelector("select");
    const PACES = [1, 2, 5, 10];
    const focused = section.querySelector("[data-focus]");
    const CHOICES = ["graph", "map"];
    const from = Number(section.dataset.shown);
    const address = (text, turn) => text.replace(section.dataset.slot, turn);
    let shown = from;
    let wanted = from;
    let busy = false;
    let tick = 0;
    let due = 0;
    let speed = 1;
    const wished = {};
    keep(from, Promise.resolve(moment.innerHTML));

    function mark() {
      main.style.setProperty("--at", `${(100 * (wanted + 0.5)) / turns}%`);
      main.style.setProperty("--wide", `max(2px, ${100 / turns}%)`);
      for (const plot of all(".graph", section)) plot.dataset.turn = wanted;
      range.value = wanted;
      for (const agent of all("a.label")) agent.href = address(agent.dataset.card, wanted);
    }

    function get(turn) {
      const where = address(section.dataset.moments, turn);
      if (!kept.has(turn)) keep(turn, where.endsWith(".js") ? onDisk(where, turn) : served(where));
      return kept.get(turn);
    }

    async function go(turn) {
      wanted = Math.max(0, Math.min(turns - 1, turn));
      mark();
      if (busy) return;
      busy = true;
      while (shown !== wanted) {
        const next = wanted;
        const html = await get(next).catch((error) => said(error.message));
        moment.innerHTML = html;
        focusOn(focused.value);
        const command = moment.querySelector("[data-command]");
        if (command) document.querySelector(".command code").textContent = command.dataset.command;
        moment.style.minHeight = `${Math.max(parseFloat(moment.style.minHeight) || 0, moment.offsetHeight)}px`;
        shown = next;
        range.setAttribute("aria-valuetext", moment.querySelector("svg")?.getAttribute("aria-label") || `turn ${next}`);
      }
      busy = false;
      if (!tick) remember();
    }

    // The address names what is seen: the turn if it is not the last one, and a graph or a map if another was chosen.
    function remember() {
      const seen = CHOICES.map((name) => {
        const one = document.querySelector(`[name=${name}]:checked`);
        if (!one) return wished[name] ? `&${name}=${wished[name]}` : ""; // it has not been loaded yet
        return one.defaultChecked ? "" : `&${name}=${one.value}`;
      });
      if (focused.value) seen.push(`&agent=${encodeURIComponent(focused.value)}`);
      const hash = `${wanted === turns - 1 ? "" : wanted}${seen.join("")}`;
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    }

    function stop() {
      clearTimeout(tick);
      tick = 0;
      play.textContent = "▶ play";
      play.setAttribute("aria-pressed", "false");
      remember();
    }

    // Turns come at a steady pace; one that is late does not delay those after it. The next one is asked for early.
    async function step() {
      await go(wanted + 1);
      if (!tick) return;
      if (wanted === turns - 1) {
        stop();
        return;
      }
      due = Math.max(due + 1000 / speed, performance.now());
      tick = setTimeout(step, due - performance.now());
      get(wanted + 1).catch(() => {});
    }

    function toggle() {
      if (tick) {
        stop();
        return;
      }
      play.textContent = "⏸ pause";
      play.setAttribute("aria-pressed", "true");
      if (wanted === turns - 1) go(0);
      due = performance.now() + 1000 / speed;
      tick = setTimeout(step, 1000 / speed);
    }

    function jump(way) {
      const lane = all("[data-lane]", section).find((one) => one.dataset.lane === kind.value);
      const marks = lane ? lane.dataset.marks.split(" ").map(Number) : [];
      const found = way > 0 ? marks.find((turn) => turn > wanted) : marks.findLast((turn) => turn < wanted);
      if (found !== undefined) go(found);
    }

    for (const plot of all("[data-drag]", section)) {
      plot.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        event.preventDefault();
        plot.setPointerCapture(event.pointerId);
        range.focus({ preventScroll: true });
        if (tick) stop();
        go(turnAt(plot, turns, event));
      });
      plot.addEventListener("pointermove", (event) => {
        if (plot.hasPointerCapture(event.pointerId)) go(turnAt(plot, turns, event));
      });
    }
    range.addEventListener("input", () => go(Number(range.value)));
    for (const button of all("[data-go]", section)) {
      const to = button.dataset.go;
      button.addEventListener("click", () => {
        if (to === "play") toggle();
        else go(to === "first" ? 0 : to === "last" ? turns - 1 : wanted + Number(to));
      });
    }
    for (const button of all("[data-pace]", section))
      button.addEventListener("click", () => {
        speed = PACES[Math.max(0, Math.min(PACES.length - 1, PACES.indexOf(speed) + Number(button.dataset.pace)))];
        pace.textContent = `${speed} a second`;
      });
    for (const button of all("[data-jump]", section)) button.addEventListener("click", () => jump(Number(button.dataset.jump)));
    const named = () => {
      const [turn, ...seen] = location.hash.slice(1).split("&");
      for (const name of CHOICES) {
        const value = seen.map((one) => one.split("=")).find((one) => one[0] === name)?.[1];
        wished[name] = value;
        const choice = all(`[name=${name}]`).find((one) => (value ? one.value === value : one.defaultChecked));
        if (choice) choice.checked = true;
      }
      const agent = seen.find((one) => one.startsWith("agent="))?.slice(6) || "";
      focused.value = decodeURIComponent(agent);
      focusOn(focused.value);
      const at = /^\d+$/.test(turn) ? Number(turn) : from;
      if (at !== wanted) go(at);
    };
    document.addEventListener("change", (event) => {
      if (event.target === focused) focusOn(focused.value);
      if (event.target === focused || CHOICES.includes(event.target.name)) remember();
    });
    window.addEventListener("hashchange", named);
    for (const hidden of all("[hidden]", section)) hidden.hidden = false;
    main.classList.add("scripted");
    pace.textContent = "1 a second";
    mark();
    named();
    return { follows: () => wanted === turns - 1 && !tick, at: () => wanted, named };
  }

  // --- the map of agents x turns; `shown` is the turn to whose cards its names lead

  function map(section, shown) {
    const turns = Number(section.dataset.turns);
    const agents = all("a.label", section);
    const card = (agent, turn) => agent.dataset.card.replace(section.dataset.slot, turn);
    for (const agent of agents) agent.href = card(agent, shown);
    for (const row of all(".row", section)) {
      const agent = row.previousElementSibling;
      row.addEventListener("pointermove", (event) => {
        row.title = `${row.dataset.name}, turn ${turnAt(row, turns, event)}: open the card`;
      });
      row.addEventListener("click", (event) => {
        location.href = card(agent, turnAt(row, turns, event));
      });
    }
    for (const button of all("[data-agent]", section))
      button.addEventListener("click", () => {
        const at = agents.indexOf(document.activeElement) + Number(button.dataset.agent);
        agents[Math.max(0, Math.min(agents.length - 1, at))]?.focus();
      });
    for (const hidden of all("[hidden]", section)) hidden.hidden = false;
  }

  // --- a part of a page that comes when it is about to be seen: it stands in the page to which its link leads

  function comesLater(part, arrived) {
    const observer = new IntersectionObserver(
      async ([seen]) => {
        if (!seen.isIntersecting) return;
        observer.disconnect();
        try {
          const page = new DOMParser().parseFromString(await served(part.querySelector("a").href), "text/html");
          const found = page.querySelector(part.dataset.part);
          part.replaceWith(found);
          arrived(found);
        } catch (error) {
          part.insertAdjacentHTML("beforeend", said(error.message));
        }
      },
      { rootMargin: "600px" },
    );
    observer.observe(part);
  }

  // Where the clipboard may not be used, as on a page from another machine, the command is selected for the reader.
  async function copy(button) {
    const text = button.previousElementSibling;
    getSelection().selectAllChildren(text);
    const written = navigator.clipboard && navigator.clipboard.writeText(text.textContent).then(() => true, () => false);
    button.textContent = (await written) || document.execCommand("copy") ? "copied" : "selected";
  }

  // What is wider than the page can be scrolled by keyboard, too.
  function reachable() {
    for (const wide of all(".wide, pre")) {
      if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
      else wide.removeAttribute("tabindex");
    }
  }

  // --- what happens now in a run that is played; a page that is not seen keeps no connection

  function listens(section, changed) {
    let source = null;
    function listen() {
      source?.close();
      source = document.hidden ? null : new EventSource(section.dataset.live);
      source?.addEventListener("message", (event) => {
        section.innerHTML = event.data;
      });
      source?.addEventListener("turn", changed);
      source?.addEventListener("over", () => {
        source.close();
        changed();
      });
    }
    document.addEventListener("visibilitychange", listen);
    listen();
  }

  document.addEventListener("DOMContentLoaded", () => {
    keys();
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[data-copy]");
      if (button) copy(button);
    });
    window.addEventListener("resize", reachable);
    document.addEventListener("toggle", reachable, true); // a table was unfolded
    const section = document.querySelector("#timeline");
    const moved = section ? timeline(section) : { follows: () => true, at: () => null, named: () => {} };
    const bind = (within) => {
      for (const one of all(".map", within)) map(one, moved.at() ?? Number(one.dataset.shown));
      moved.named();
      reachable();
    };
    bind(document);
    for (const part of all("[data-part]")) comesLater(part, bind);
    const live = document.querySelector("[data-live]");
    let isChanged = !live; // a page that hears of each turn is loaded again only after one
    if (live)
      listens(live, () => {
        isChanged = true;
      });
    // Those who look at an earlier turn, or write in a field, are left in peace.
    const reloadEvery = (seconds) =>
      setInterval(() => {
        if (isChanged && moved.follows() && !document.hidden && !document.querySelector("dialog[open], form :focus")) location.reload();
      }, 1000 * seconds);
    const seconds = Number(document.body.dataset.reload);
    if (seconds) reloadEvery(seconds);
  });

  return { moment: (turn, html) => arriving.get(turn)?.(html) };
})();
