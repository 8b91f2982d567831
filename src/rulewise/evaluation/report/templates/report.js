"use strict";
(function () {
  const PER_PAGE = 25;
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const cellBox = byId("cell"), classBox = byId("class"), textBox = byId("text");
  const list = byId("list"), detail = byId("detail");
  let shown = [], page = 0, current = null, waiting = 0;

  function make(tag, text, parent, className) {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = String(text);
    if (className) made.className = className;
    if (parent) parent.appendChild(made);
    return made;
  }
  function option(box, value, text) {
    const made = make("option", text, box);
    made.value = value;
  }
  const cell = () => data.cells[Number(cellBox.value)];
  const query = (row) => data.queries[cell().place][row.q];
  const rule = (number) => data.rules[cell().place][number];

  function fillClasses() {
    const counts = new Map();
    for (const row of cell().rows) counts.set(row.c, (counts.get(row.c) || 0) + 1);
    const before = classBox.value;
    classBox.replaceChildren();
    option(classBox, "", "all (" + cell().rows.length + ")");
    data.classes.forEach((one, number) => {
      if (counts.has(number)) option(classBox, String(number), one[0] + " (" + counts.get(number) + ")");
    });
    classBox.value = before;
    if (classBox.selectedIndex < 0) classBox.value = "";
  }
  function fits(row, wanted) {
    if (!wanted) return true;
    const asked = query(row);
    const parts = [row.q, asked.text, asked.instruction, row.induced && row.induced.text, row.answer && row.answer.text];
    return parts.some((part) => part && String(part).toLowerCase().includes(wanted));
  }
  function filter() {
    const wanted = textBox.value.trim().toLowerCase(), only = classBox.value;
    shown = cell().rows.filter((row) => (only === "" || row.c === Number(only)) && fits(row, wanted));
    page = 0;
    drawList();
  }
  function drawList() {
    const pages = Math.max(1, Math.ceil(shown.length / PER_PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    byId("count").textContent = shown.length + " of " + cell().rows.length + " queries";
    byId("page").textContent = "page " + (page + 1) + " of " + pages;
    byId("back").disabled = page === 0;
    byId("next").disabled = page === pages - 1;
    list.replaceChildren();
    for (const row of shown.slice(page * PER_PAGE, (page + 1) * PER_PAGE)) {
      const button = make("button", null, make("li", null, list));
      button.type = "button";
      make("b", row.q, button);
      make("small", data.classes[row.c][0], button);
      const text = query(row).text;
      if (text) make("small", text.slice(0, 160), button);
      if (row === current) button.setAttribute("aria-current", "true");
      button.addEventListener("click", () => {
        current = row;
        for (const other of list.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
        button.setAttribute("aria-current", "true");
        drawDetail(row);
        detail.focus({ preventScroll: true });
        if (detail.getBoundingClientRect().top > window.innerHeight * 0.7) detail.scrollIntoView();
      });
    }
  }
  function ruleLine(parent, number, prefix) {
    const known = rule(number);
    const line = make("p", null, parent);
    make("code", known[0], line);
    line.appendChild(document.createTextNode((prefix || "") + (known.length > 1 ? ": " + known[1] : "")));
  }
  function ranking(title, hits, gold, top) {
    make("h4", title, detail);
    if (!hits.length) { make("p", "No hits.", detail, "quiet"); return; }
    const scroll = make("div", null, detail, "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", title);
    const table = make("table", null, scroll, "hits");
    const head = make("tr", null, make("thead", null, table));
    for (const name of ["rank", "score", "rule"]) make("th", name, head).scope = "col";
    const body = make("tbody", null, table);
    hits.forEach((hit, at) => {
      const known = rule(hit[0]), isGold = gold.includes(hit[0]);
      const line = make("tr", null, body, isGold ? "gold" : "");
      make("td", at + 1, line, "num");
      make("td", hit[1], line, "num");
      const text = make("td", null, line);
      if (isGold) make("b", "gold ", text);
      if (at < top) make("b", "shown ", text);
      make("code", known[0], text);
      if (known.length > 1) text.appendChild(document.createTextNode(" " + known[1]));
    });
  }
  function pairs(title, object) {
    const names = Object.keys(object);
    if (!names.length) return;
    make("h4", title, detail);
    const line = make("p", null, detail);
    for (const name of names) make("span", name.replace(/_/g, " ") + ": " + object[name], line, "chip");
  }
  function block(title, text) {
    if (!text) return;
    make("h4", title, detail);
    make("pre", text, detail);
  }
  function drawInduced(induced) {
    make("h4", "Induced rule", detail);
    const line = make("p", null, detail);
    make("span", induced.status, line, "chip");
    if (induced.text) line.appendChild(document.createTextNode(induced.text));
    if (induced.reason) make("p", "Reason: " + induced.reason, detail);
    if (induced.repairs) make("p", "Repairs: " + induced.repairs, detail);
    block("Reply to the induction prompt", induced.raw);
  }
  function drawAnswer(answer) {
    make("h4", "Answer", detail);
    if (answer.failed) make("p", "No answer" + (answer.failure ? ": " + answer.failure : "."), detail);
    else if (data.texts) make("p", answer.text || "(empty)", detail);
    if (answer.no_rule) make("p", "The model says that no rule applies.", detail);
    if (answer.rules.length) {
      make("h4", "Rules that the answer names", detail);
      for (const number of answer.rules) ruleLine(detail, number);
    }
    if (answer.premises && answer.premises.length) {
      make("h4", "Premises", detail);
      const items = make("ul", null, detail);
      for (const one of answer.premises) {
        const mark = one.is_supported ? "quoted from the query" : "not found in the query";
        make("li", one.rule + ": " + one.premise + " \u2190 \u201c" + one.quote + "\u201d (" + mark + ")", items);
      }
    }
    if (answer.notes && answer.notes.length) {
      make("h4", "Notes on the reply", detail);
      const items = make("ul", null, detail);
      for (const note of answer.notes) make("li", note, items);
    }
    block("Reply to the reasoning prompt", answer.raw);
  }
  function drawDocuments(row) {
    const known = data.documents[cell().place];
    if (row.asked) { make("h4", "Asked as", detail); make("p", row.asked, detail); }
    make("h4", "Rules chosen", detail);
    if (!row.chosen.length) make("p", row.why_none || "None.", detail, "quiet");
    for (const [number, score, fits] of row.chosen) {
      ruleLine(detail, number, " (" + score + (fits === null ? "" : fits ? ", has an oracle document" : ", has no oracle document") + ")");
    }
    make("h4", "Documents, the first of " + row.n_documents, detail);
    if (!row.documents.length) { make("p", "No hits.", detail, "quiet"); return; }
    const scroll = make("div", null, detail, "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Documents");
    const table = make("table", null, scroll, "hits");
    const head = make("tr", null, make("thead", null, table));
    for (const name of ["rank", "score", "found by", "document"]) make("th", name, head).scope = "col";
    const body = make("tbody", null, table);
    row.documents.forEach(([number, score, via, holds], at) => {
      const line = make("tr", null, body, holds ? "gold" : "");
      make("td", at + 1, line, "num");
      make("td", score, line, "num");
      make("td", via === null ? "query" : rule(via)[0], line);
      const text = make("td", null, line);
      if (holds) make("b", "holds an answer ", text);
      if (at < row.n_shown) make("b", "shown ", text);
      make("code", known[number][0], text);
      if (known[number].length > 1) text.appendChild(document.createTextNode(" " + known[number][1]));
    });
    for (const note of row.notes || []) make("p", note, detail, "quiet");
  }
  function drawDetail(row) {
    const asked = query(row), gold = asked.gold, own = cell();
    detail.replaceChildren();
    make("h3", "Query " + row.q, detail);
    const kind = make("p", null, detail);
    make("span", data.classes[row.c][0], kind, "chip");
    kind.appendChild(document.createTextNode(data.classes[row.c][1]));
    if (asked.instruction) { make("h4", "Instruction", detail); make("p", asked.instruction, detail); }
    if (asked.text) { make("h4", "Query", detail); make("p", asked.text, detail); }
    make("h4", gold.length === 1 ? "Gold rule" : "Gold rules", detail);
    if (!gold.length) make("p", "None is known.", detail, "quiet");
    for (const number of gold) ruleLine(detail, number);
    if (asked.answers && asked.answers.length) {
      make("h4", "Gold answers", detail);
      make("p", asked.answers.join(" | "), detail);
    }
    if (row.induced) drawInduced(row.induced);
    if (row.shown && !own.searches) {
      make("h4", "Rules shown", detail);
      for (const number of row.shown) ruleLine(detail, number);
    }
    if (row.documents) drawDocuments(row);
    else if (own.searches) {
      const top = row.answer ? (row.shown || []).length : 0;
      if (own.reranks) ranking("Before reranking", row.found || row.hits, gold, 0);
      ranking(own.reranks ? "After reranking" : "Hits", row.hits, gold, top);
    }
    if (row.rerank) {
      if (row.rerank.failure) make("p", "Reranking failed: " + row.rerank.failure, detail);
      pairs("How the reranker's replies were read", row.rerank.counts);
      (row.rerank.replies || []).forEach((reply, at) => block("Reranker's reply " + (at + 1), reply));
    }
    if (row.answer) drawAnswer(row.answer);
    pairs("Scores", row.scores);
    if (row.usage) {
      const spent = {};
      for (const stage of Object.keys(row.usage)) {
        const [calls, failed, tokensIn, tokensOut] = row.usage[stage];
        spent[stage] = calls + (calls === 1 ? " call" : " calls") + (failed ? " (" + failed + " failed)" : "") + ", " +
          (tokensIn === null ? "?" : tokensIn) + " tokens in, " + (tokensOut === null ? "?" : tokensOut) + " out";
      }
      pairs("Calls and tokens", spent);
    }
  }

  data.cells.forEach((one, number) => option(cellBox, String(number), one.label));
  byId("pick").addEventListener("submit", (event) => event.preventDefault());
  cellBox.addEventListener("change", () => {
    const id = current && current.q;
    fillClasses();
    filter();
    const same = id && cell().rows.find((row) => row.q === id);
    current = same || null;
    if (same) drawDetail(same);
    else detail.replaceChildren();
    drawList();
  });
  classBox.addEventListener("change", filter);
  textBox.addEventListener("input", () => {
    window.clearTimeout(waiting);
    waiting = window.setTimeout(filter, 150);
  });
  byId("back").addEventListener("click", () => { page -= 1; drawList(); });
  byId("next").addEventListener("click", () => { page += 1; drawList(); });
  fillClasses();
  filter();
})();
