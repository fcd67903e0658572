// The script of the pages of hobbes: the page of a run moves through its turns without being loaded again, an agent is
// highlighted wherever it is shown, tables are sorted, a tap shows what a mouse sees on hover, a button copies a
// command, and what is being played renews itself. All of it can be read without this script.
"use strict";
{
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const SIGNS = "b[class^=c], tspan[class^=i], [data-look]";

  function warning(text) {
    return Object.assign(document.createElement("p"), { className: "warning", textContent: text }).outerHTML;
  }

  async function served(address) {
    const answer = await fetch(address).catch(() => {
      throw new Error("this page is no longer served; start `hobbes view` again");
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text;
  }

  // Mark the line of the story with this turn, and scroll to it there; the page stays where it is.
  function markLine(turn) {
    for (const line of all("[data-first]")) {
      const here = Number(line.dataset.first) <= turn && turn <= Number(line.dataset.last);
      if (here) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
      const list = here && line.closest("ol");
      if (list) list.scrollTop = line.offsetTop - (list.clientHeight - line.offsetHeight) / 2;
    }
  }

  // Move through the turns of a run; return whether the last one is seen, so that the page may be loaded again.
  function timeline(section) {
    const main = document.querySelector("main");
    const turns = Number(section.dataset.turns);
    const moment = document.querySelector("#moment");
    const range = section.querySelector("[type=range]");
    const from = Number(section.dataset.shown);
    let shown = from;
    let wanted = from;
    let busy = false;
    // The turns that a file holds: each is a sheet of its own where no script moves through them.
    const kept = new Map(all(".sheet > [data-turn]").map((one) => [Number(one.dataset.turn), one]));
    for (const { parentElement: sheet } of kept.values()) {
      Object.assign(sheet, { hidden: true, className: "" });
      sheet.removeAttribute("id");
    }

    function mark() {
      main.style.setProperty("--at", `${(100 * (wanted + 0.5)) / turns}%`);
      main.style.setProperty("--wide", `max(2px, ${100 / turns}%)`);
      for (const plot of all(".graph", section)) plot.dataset.turn = wanted;
      markLine(wanted);
      range.value = wanted;
    }

    // The board has the height that the window leaves below what stands above it.
    function fit() {
      const board = moment.querySelector(".fit");
      if (board) main.style.setProperty("--above", `${board.getBoundingClientRect().top + scrollY}px`);
    }

    async function get(turn) {
      if (kept.has(turn)) return kept.get(turn).innerHTML;
      if (kept.size) throw new Error(`turn ${turn} is not in this file`);
      return served(`${section.dataset.run}/${turn}.html`);
    }

    // The page has only a part of a long story: get the one around a turn.
    async function readOn(turn) {
      const page = await served(`${section.dataset.run}?turn=${turn}`).catch(() => "");
      const part = new DOMParser().parseFromString(page, "text/html").querySelector(".story");
      if (part) section.querySelector(".story").replaceWith(part);
      markLine(turn);
    }

    async function go(turn) {
      wanted = Math.max(0, Math.min(turns - 1, turn));
      mark();
      if (busy) return;
      busy = true;
      while (shown !== wanted) {
        const next = wanted;
        moment.innerHTML = await get(next).catch((error) => warning(error.message));
        fit();
        highlight();
        const command = moment.querySelector("[data-command]");
        if (command) document.querySelector(".command code").textContent = command.dataset.command;
        moment.style.minHeight = `${Math.max(parseFloat(moment.style.minHeight) || 0, moment.offsetHeight)}px`;
        shown = next;
        range.setAttribute("aria-valuetext", moment.querySelector("svg")?.getAttribute("aria-label") || `turn ${next}`);
      }
      if (!section.querySelector(".story [aria-current]")) await readOn(shown);
      busy = false;
      const hash = wanted === from ? "" : `#${wanted}`;
      history.replaceState(null, "", hash || location.pathname + location.search);
    }

    function nextMoment() {
      const moments = all(".moments [data-first]").map((one) => Number(one.dataset.first));
      go(moments.find((turn) => turn > wanted) ?? moments[0]);
    }

    const close = () => moment.querySelector(".signs")?.removeAttribute("open");
    const keys = { ArrowLeft: () => go(wanted - 1), ArrowRight: () => go(wanted + 1), n: nextMoment, Escape: close };
    document.addEventListener("keydown", (event) => {
      const field = event.target.closest("select, textarea, input, [tabindex]");
      if ((field && field !== range) || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    document.addEventListener("click", (event) => {
      const line = event.target.closest("[data-first]");
      if (!line || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go(Number(line.dataset.first));
    });
    for (const plot of all("[data-drag]", section)) {
      const goThere = (event) => {
        const box = plot.getBoundingClientRect();
        go(Math.floor((turns * (event.clientX - box.left)) / box.width));
      };
      plot.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        event.preventDefault();
        plot.setPointerCapture(event.pointerId);
        range.focus({ preventScroll: true });
        goThere(event);
      });
      plot.addEventListener("pointermove", (event) => {
        if (plot.hasPointerCapture(event.pointerId)) goThere(event);
      });
    }
    range.addEventListener("input", () => go(Number(range.value)));
    for (const button of all("[data-go]", section))
      button.addEventListener("click", () => (button.dataset.go ? go(wanted + Number(button.dataset.go)) : nextMoment()));
    function named() {
      const turn = location.hash.slice(1);
      if (Number(turn) >= turns) {
        shown = NaN; // any turn is got anew
        moment.innerHTML = warning(`there is no turn ${turn}; this run has turns 0 to ${turns - 1}`);
      } else if (/^\d*$/.test(turn)) go(turn ? Number(turn) : from);
      if (kept.size && !main.querySelector(":target")) scrollTo(0, 0); // another sheet is shown
    }
    window.addEventListener("hashchange", named);
    window.addEventListener("resize", fit);
    for (const hidden of all("[hidden]", section)) hidden.hidden = false;
    main.classList.add("scripted");
    fit();
    mark();
    if (location.hash) named();
    return () => wanted === turns - 1;
  }

  // An agent is highlighted by its look, its colour and its sign, which are the same in words, board and chart.
  let lit = "";
  const lookOf = (one) => one.dataset.look ?? one.getAttribute("class").replace(/\D/g, "") + one.textContent;
  function highlight(look = lit) {
    lit = look;
    document.body.toggleAttribute("data-lighting", Boolean(lit));
    for (const one of all(SIGNS)) one.toggleAttribute("data-lit", Boolean(lit) && lookOf(one) === lit);
  }

  // Return the look of the agent that is pointed at: by its sign, its line, or a link or a cell with its name alone.
  function pointed(at) {
    const near = at.closest(SIGNS) || at.closest("a, th, td");
    const signs = !near || near.matches(SIGNS) ? [near] : all(SIGNS, near);
    return signs.length === 1 && signs[0] ? lookOf(signs[0]) : "";
  }

  // A button in the head of a column sorts the rows by it, and then the other way round.
  function sortable(table) {
    for (const head of table.tBodies[0].rows.length > 1 ? table.tHead?.rows[0].cells : []) {
      if (!head.textContent) continue;
      const { title, ariaLabel } = head;
      const button = Object.assign(document.createElement("button"), { type: "button", className: "sort", title, ariaLabel });
      button.append(...head.childNodes);
      head.append(button);
    }
  }

  function sort(head) {
    const order = head.ariaSort === "ascending" ? "descending" : "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const body = head.closest("table").tBodies[0];
    const value = (row) => (row.cells[head.cellIndex]?.textContent ?? "").trim().replace(/^\p{S}\s/u, "").replaceAll(",", "");
    const compare = (a, b) => parseFloat(a) - parseFloat(b) || a.localeCompare(b, "en", { numeric: true });
    const rows = [...body.rows].sort((one, other) => compare(value(one), value(other)));
    body.append(...(order === "ascending" ? rows : rows.reverse()));
  }

  // Where nothing hovers, the first tap on what has words of its own shows them, and a second one follows its link.
  function tell(event) {
    const told = event.target.closest(".board [role=img], span[title], small[title]");
    const words = told && (told.querySelector("title")?.textContent ?? told.title);
    const shown = document.querySelector(".tip");
    shown?.remove();
    if (!words || shown?.textContent === words || !matchMedia("(hover: none)").matches) return;
    event.preventDefault();
    const tip = Object.assign(document.createElement("p"), { className: "tip", textContent: words });
    tip.setAttribute("role", "status");
    document.body.append(tip);
  }

  // Where the clipboard may not be used, as on a page from another machine, the command is selected for the reader.
  function copy(button) {
    getSelection().selectAllChildren(button.previousElementSibling);
    button.textContent = document.execCommand("copy") ? "copied" : "selected";
  }

  // In a file, what stands on several cards is held once: on the one that is shown, it takes the place of the link.
  function fill() {
    const sheet = document.getElementById(location.hash.slice(1));
    for (const link of sheet ? all("[data-same]", sheet) : []) {
      const copy = document.getElementById(link.dataset.same).cloneNode(true);
      copy.removeAttribute("id");
      link.parentElement.replaceWith(copy);
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[data-copy], .sort");
      if (button) (button.matches(".sort") ? sort(button.parentElement) : copy(button));
      else tell(event);
    });
    for (const kind of ["pointerover", "focusin"])
      document.addEventListener(kind, (event) => {
        const look = pointed(event.target);
        if (look !== lit) highlight(look);
      });
    all("table").forEach(sortable);
    window.addEventListener("hashchange", fill);
    fill();
    const section = document.querySelector("#timeline");
    const follows = section ? timeline(section) : () => true;
    const seconds = Number(document.body.dataset.reload);
    if (seconds)
      setInterval(() => {
        // Those who look at an earlier turn are left in peace.
        if (follows() && !document.hidden) location.reload();
      }, 1000 * seconds);
  });
}
