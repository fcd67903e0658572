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
      const types = at.matches("select, textarea, input:not([type=radio], [type=checkbox], [type=range])");
      if (event.ctrlKey || event.altKey || event.metaKey || types) return;
      if (key.startsWith("Arrow") && at.matches("[type=radio]")) return;
      if (key === "Space" && at.matches("button, a, summary, input:not([type=range])")) return;
      if (dialog.open && key !== "?") return;
      const control = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
      if (!control) return;
      event.preventDefault();
      if (control.matches("select")) control.selectedIndex = (control.selectedIndex + 1) % control.length;
      else control.click();
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

  async function served(address, request) {
    const answer = await fetch(address, request).catch(() => {
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

  function timeline(section) {
    const turns = Number(section.dataset.turns);
    const moment = document.querySelector("#moment");
    const range = section.querySelector("[type=range]");
    const play = section.querySelector('[data-go="play"]');
    const pace = section.querySelector("[data-pace-shown]");
    const kind = section.querySelector("select");
    const agents = all("a.label", section);
    const PACES = [1, 2, 5, 10];
    const CHOICES = ["graph", "map"];
    const from = Number(section.dataset.shown);
    const address = (text, turn) => text.replace(section.dataset.slot, turn);
    let shown = from;
    let wanted = from;
    let busy = false;
    let tick = 0;
    let due = 0;
    let speed = 1;
    keep(from, Promise.resolve(moment.innerHTML));

    function mark() {
      section.style.setProperty("--at", `${(100 * (wanted + 0.5)) / turns}%`);
      section.style.setProperty("--wide", `max(2px, ${100 / turns}%)`);
      for (const plot of all(".graph", section)) plot.dataset.turn = wanted;
      range.value = wanted;
      for (const agent of agents) agent.href = address(agent.dataset.card, wanted);
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
        const command = moment.querySelector("[data-command]");
        if (command) document.querySelector(".command code").textContent = command.dataset.command;
        moment.style.minHeight = `${Math.max(parseFloat(moment.style.minHeight) || 0, moment.offsetHeight)}px`;
        shown = next;
        range.setAttribute("aria-valuetext", moment.querySelector("svg")?.getAttribute("aria-label") || `turn ${next}`);
      }
      busy = false;
      if (!tick) remember();
    }

    // The address names what is seen: the turn if it is not the last one, and a graph or a map if it is not the first.
    function remember() {
      const seen = CHOICES.map((name) => section.querySelector(`[name=${name}]:checked`))
        .filter((one) => one && one.value !== "0")
        .map((one) => `&${one.name}=${one.value}`);
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

    const turnAt = (plot, event) => {
      const box = plot.getBoundingClientRect();
      return Math.max(0, Math.min(turns - 1, Math.floor((turns * (event.clientX - box.left)) / box.width)));
    };
    for (const plot of all("[data-drag]", section)) {
      plot.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        event.preventDefault();
        plot.setPointerCapture(event.pointerId);
        range.focus({ preventScroll: true });
        if (tick) stop();
        go(turnAt(plot, event));
      });
      plot.addEventListener("pointermove", (event) => {
        if (plot.hasPointerCapture(event.pointerId)) go(turnAt(plot, event));
      });
    }
    for (const row of all(".row", section)) {
      const card = row.previousElementSibling;
      row.addEventListener("pointermove", (event) => {
        row.title = `${row.dataset.name}, turn ${turnAt(row, event)}: open the card`;
      });
      row.addEventListener("click", (event) => {
        location.href = address(card.dataset.card, turnAt(row, event));
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
    for (const button of all("[data-agent]", section))
      button.addEventListener("click", () => {
        const at = agents.indexOf(document.activeElement) + Number(button.dataset.agent);
        agents[Math.max(0, Math.min(agents.length - 1, at))]?.focus();
      });
    const named = () => {
      const [turn, ...seen] = location.hash.slice(1).split("&");
      for (const name of CHOICES) {
        const value = seen.map((one) => one.split("=")).find((one) => one[0] === name)?.[1] || "0";
        const choice = all(`[name=${name}]`, section).find((one) => one.value === value);
        if (choice) choice.checked = true;
      }
      const at = /^\d+$/.test(turn) ? Number(turn) : from;
      if (at !== wanted) go(at);
    };
    for (const choice of all("[type=radio]", section)) choice.addEventListener("change", remember);
    window.addEventListener("hashchange", named);
    for (const hidden of all("[hidden]", section)) hidden.hidden = false;
    section.classList.add("scripted");
    pace.textContent = "1 a second";
    mark();
    named();
    return () => wanted === turns - 1 && !tick;
  }

  // Where the clipboard may not be used, as on a page from another machine, the command is selected for the reader.
  async function copy(button) {
    const text = button.previousElementSibling;
    getSelection().selectAllChildren(text);
    const written = navigator.clipboard && navigator.clipboard.writeText(text.textContent).then(() => true, () => false);
    button.textContent = (await written) || document.execCommand("copy") ? "copied" : "selected";
  }

  // Show how many seconds are left, and do something when none is.
  function countDown(shown, over) {
    const end = performance.now() + 1000 * Number(shown.dataset.left);
    const ticking = setInterval(() => {
      const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
      shown.textContent = `${left} second${left === 1 ? "" : "s"}`;
      if (left) return;
      clearInterval(ticking);
      over();
    }, 500);
  }

  // --- a seat: what is chosen on the map stands in the fields in writing, which are what the form sends

  function seat(form) {
    const plots = all("[data-plot]", form);
    const brushes = all("[data-brushes] input", form);
    const budgets = all("[data-budget]", form);
    for (const hidden of all("[data-brushes]", form)) hidden.hidden = false;

    // A field in writing as plots with their numbers: `0 4` twice is 2, and so is `0 4 2` where numbers are written.
    function chosen(brush) {
      const numbers = new Map();
      for (const entry of form.elements[brush.value].value.split(/[\n;]+/)) {
        const parts = entry.trim().split(/[\s,]+/);
        if (parts.length < 2) continue;
        const plot = parts.slice(0, 2).join(" ");
        numbers.set(plot, (numbers.get(plot) || 0) + (brush.dataset.counted ? Number(parts[2]) : 1));
      }
      return numbers;
    }

    function choose(button) {
      const fields = button.dataset.fields.split(" ").filter(Boolean);
      const wanted = brushes.find((brush) => brush.checked && fields.includes(brush.value));
      const brush = wanted || brushes.find((one) => fields.includes(one.value));
      if (!brush) return;
      const numbers = chosen(brush);
      const now = numbers.get(button.dataset.plot) || 0;
      const limit = Number(brush.dataset.limit) || now + left(budgets[0]);
      if (now < limit) numbers.set(button.dataset.plot, now + 1);
      else numbers.delete(button.dataset.plot);
      const lines = [...numbers].flatMap(([plot, n]) => (brush.dataset.counted ? [`${plot} ${n}`] : Array(n).fill(plot)));
      form.elements[brush.value].value = lines.join("\n");
      show();
    }

    function left(budget) {
      const { amount, prices } = JSON.parse(budget.dataset.budget);
      const spent = Object.entries(prices).map(([name, price]) => {
        const brush = brushes.find((one) => one.value === name);
        if (brush) return price * [...chosen(brush).values()].reduce((a, b) => a + b, 0);
        const inputs = all("input", form).filter((input) => input.name === name || input.name.startsWith(`${name}/`));
        return price * inputs.reduce((sum, input) => sum + Number(input.value), 0);
      });
      return amount - spent.reduce((a, b) => a + b, 0);
    }

    function show() {
      for (const plot of plots) plot.lastElementChild.textContent = "";
      const words = new Map();
      for (const brush of brushes) {
        const name = brush.parentElement.textContent.trim();
        for (const [at, n] of chosen(brush)) {
          const plot = plots.find((one) => one.dataset.plot === at);
          if (!plot) continue;
          plot.lastElementChild.textContent += name[0].toUpperCase() + (n > 1 || brush.dataset.counted ? n : "");
          words.set(plot, [...(words.get(plot) || []), n > 1 ? `${name} ${n}` : name]);
        }
      }
      for (const plot of plots) {
        plot.classList.toggle("chosen", words.has(plot));
        plot.ariaLabel = [plot.dataset.words, ...(words.get(plot) || [])].join(", ");
      }
      for (const budget of budgets) {
        const rest = left(budget);
        budget.classList.toggle("warning", rest < 0);
        const shown = budget.querySelector("output");
        shown.textContent = rest < 0 ? `${-rest} too many` : `${rest} of ${JSON.parse(budget.dataset.budget).amount} left`;
      }
    }

    for (const plot of plots) plot.addEventListener("click", () => choose(plot));
    form.addEventListener("input", show);
    show();
  }

  // --- another prompt: what would be asked is shown while it is written, and answers as they come

  // Put a part of a page as it is served now in the place of this one; what is written elsewhere on it stays.
  async function renew(id, address, request, wanted = () => true) {
    const html = await served(address, request).catch((error) => said(error.message));
    const page = new DOMParser().parseFromString(html, "text/html");
    if (!wanted()) return page;
    const before = document.getElementById(id);
    const part = page.getElementById(id);
    if (!part) {
      before.replaceChildren(...page.body.children);
      return page;
    }
    const details = all("details", part);
    all("details", before).forEach((one, n) => {
      if (one.open && details[n]) details[n].open = true;
    });
    const scrolled = before.scrollTop;
    before.replaceWith(part);
    part.scrollTop = scrolled;
    reachable();
    return page;
  }

  function trying(form) {
    const PAUSE = 300;
    let waiting = 0;
    let last = 0;
    form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        const body = new URLSearchParams(new FormData(form));
        const now = ++last;
        renew("preview", form.action, { method: "POST", body }, () => now === last);
      }, PAUSE);
    });
  }

  function answers(seconds) {
    setTimeout(async () => {
      const page = await renew("answers", location.href);
      const next = Number(page.body.dataset.reload);
      if (next) answers(next);
      else document.querySelector("form.try").dispatchEvent(new Event("input")); // to ask again costs less now
    }, 1000 * seconds);
  }

  // What is wider than the page can be scrolled by keyboard, too.
  function reachable() {
    for (const wide of all(".wide, pre")) {
      if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
      else wide.removeAttribute("tabindex");
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    keys();
    for (const button of all("[data-copy]")) button.addEventListener("click", () => copy(button));
    for (const form of all("form.seat")) seat(form);
    for (const form of all("form.try")) trying(form);
    reachable();
    window.addEventListener("resize", reachable);
    document.addEventListener("toggle", reachable, true); // a table was unfolded
    const section = document.querySelector("#timeline");
    const follows = section ? timeline(section) : () => true;
    // Those who look at an earlier turn, or write an answer, are left in peace.
    const reloadEvery = (seconds) =>
      setInterval(() => {
        if (follows() && !document.hidden && !document.querySelector("dialog[open], form :focus")) location.reload();
      }, 1000 * seconds);
    const seconds = Number(document.body.dataset.reload);
    if (seconds && document.getElementById("answers")) answers(seconds);
    else if (seconds) reloadEvery(seconds);
    const left = document.querySelector("[data-left]");
    if (left) countDown(left, () => reloadEvery(2));
  });

  return { moment: (turn, html) => arriving.get(turn)?.(html) };
})();
