"use strict";
document.addEventListener("DOMContentLoaded", () => {
    const spans = JSON.parse(document.getElementById("data").textContent);
    const byId = (id) => document.getElementById(id);
    const [list, tree, details] = [byId("traces"), byId("tree"), byId("details")];
    const make = (tag, text, name) => {
        const element = document.createElement(tag);
        if (text !== undefined) element.textContent = text;
        if (name) element.className = name;
        return element;
    };
    const duration = (ms) => {
        if (ms < 1) return `${Math.round(ms * 1000)} µs`;
        if (ms < 1000) return `${Math.round(ms)} ms`;
        if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
        return ms < 3600000 ? `${Math.round(ms / 60000)} min` : `${(ms / 3600000).toFixed(1)} h`;
    };
    const kindOf = (span) => ({ invoke_agent: "agent", chat: "model", execute_tool: "tool" })[span.attributes["gen_ai.operation.name"]]
        || (span.name.startsWith("wait_for_approval ") ? "wait" : "other");

    // --- traces
    const traces = new Map();
    for (const span of spans) {
        if (!traces.has(span.trace)) traces.set(span.trace, { id: span.trace, spans: [] });
        span.kindName = kindOf(span);
        span.words = null;
        traces.get(span.trace).spans.push(span);
    }
    for (const trace of traces.values()) {
        const known = new Map(trace.spans.map((span) => [span.id, span]));
        trace.start = Infinity;
        trace.end = -Infinity;
        for (const span of trace.spans) {
            span.children = [];
            trace.start = Math.min(trace.start, span.start);
            trace.end = Math.max(trace.end, span.start + span.ms * 1000);
        }
        trace.roots = [];
        for (const span of trace.spans) {
            const parent = known.get(span.parent);
            (parent && parent !== span ? parent.children : trace.roots).push(span);
        }
        // Spans that are each other's ancestors hang below no root.
        const reached = new Set();
        const stack = [...trace.roots];
        while (stack.length) {
            const span = stack.pop();
            if (reached.has(span)) continue;
            reached.add(span);
            stack.push(...span.children);
        }
        for (const span of trace.spans) if (!reached.has(span)) { span.children = []; trace.roots.push(span); }
        const byStart = (one, other) => one.start - other.start;
        trace.roots.sort(byStart);
        for (const span of trace.spans) span.children.sort(byStart);
        trace.errors = trace.spans.filter((span) => span.status === "ERROR").length;
    }
    const all = [...traces.values()].sort((one, other) => other.start - one.start);
    const count = (kind) => spans.filter((span) => span.kindName === kind).length;
    byId("statistics").textContent = `${all.length} traces, ${spans.length} spans, ${count("model")} model requests, ${count("tool")} tool calls, ${spans.filter((s) => s.status === "ERROR").length} errors`;

    let current = null;
    let rows = [];
    let chosen = null;
    const folded = new Set();

    const promptOf = (trace) => {
        for (const span of trace.spans) {
            try {
                const messages = JSON.parse(span.attributes["gen_ai.input.messages"] || "[]");
                for (const message of messages.reverse()) {
                    const text = message.role === "user" && message.parts.filter((part) => part.type === "text").pop();
                    if (text) return String(text.content);
                }
            } catch { /* another program's form */ }
        }
        return trace.roots[0].name;
    };
    all.forEach((trace) => {
        const button = make("button");
        button.append(make("span", promptOf(trace).slice(0, 80)));
        const errors = trace.errors ? `, ${trace.errors} errors` : "";
        button.append(make("small", `${new Date(trace.start / 1000).toLocaleString()}  ${duration((trace.end - trace.start) / 1000)}, ${trace.spans.length} spans${errors}`));
        button.append(make("small", trace.id.slice(0, 12)));
        button.addEventListener("click", () => open(trace));
        trace.button = button;
        list.append(button);
    });

    // --- filter
    const wordsOf = (span) => span.words ??= `${span.name} ${span.why || ""} ${Object.values(span.attributes).join(" ")}`.toLowerCase();
    const matches = (span) => {
        const words = byId("filter").value.trim().toLowerCase();
        return (!byId("errors").checked || span.status === "ERROR") && (!words || wordsOf(span).includes(words));
    };
    const isFiltering = () => byId("errors").checked || byId("filter").value.trim() !== "";

    // --- tree
    function open(trace) {
        current = trace;
        chosen = null;
        for (const one of all) one.button.setAttribute("aria-current", one === trace);
        draw();
        if (rows.length) choose(rows[0]);
    }
    function draw() {
        const filtering = isFiltering();
        const wanted = new Set();
        if (filtering) {
            const parents = new Map();
            for (const span of current.spans) for (const child of span.children) parents.set(child, span);
            for (const span of current.spans) {
                if (!matches(span)) continue;
                for (let at = span; at && !wanted.has(at); at = parents.get(at)) wanted.add(at);
            }
        }
        rows = [];
        const fragment = document.createDocumentFragment();
        const total = Math.max(current.end - current.start, 1);
        const stack = current.roots.map((span) => [span, 1]).reverse();
        while (stack.length) {
            const [span, level] = stack.pop();
            if (filtering && !wanted.has(span)) continue;
            fragment.append(row(span, level, total, filtering));
            rows.push(span);
            if (!folded.has(span) || filtering) for (const child of [...span.children].reverse()) stack.push([child, level + 1]);
        }
        tree.replaceChildren(fragment);
        if (!rows.length) tree.append(make("p", "No span has these words."));
    }
    function row(span, level, total, filtering) {
        const element = make("div", undefined, `row ${span.kindName}${span.status === "ERROR" ? " error" : ""}${filtering && !matches(span) ? " dim" : ""}`);
        element.setAttribute("role", "treeitem");
        element.setAttribute("aria-level", level);
        const name = make("span", undefined, "name");
        name.style.paddingLeft = `${(level - 1) * 1.1}em`;
        const fold = make("span", span.children.length ? (folded.has(span) ? "▸" : "▾") : "", "fold");
        fold.addEventListener("click", (event) => { event.stopPropagation(); toggle(span); });
        if (span.children.length) element.setAttribute("aria-expanded", !folded.has(span));
        name.append(fold, make("span", span.name, "title"));
        const bar = make("span", undefined, "bar");
        const line = make("i");
        line.style.left = `${(100 * (span.start - current.start)) / total}%`;
        line.style.width = `${(100000 * span.ms) / total}%`;
        bar.append(line);
        element.append(name, bar, make("span", duration(span.ms), "time"));
        element.addEventListener("click", () => choose(span));
        span.element = element;
        return element;
    }
    function toggle(span, fold = !folded.has(span)) {
        if (!span.children.length) return;
        if (fold) folded.add(span); else folded.delete(span);
        draw();
        choose(rows.includes(chosen) ? chosen : span);
    }
    function choose(span) {
        chosen?.element?.setAttribute("aria-selected", false);
        chosen = span;
        span.element.setAttribute("aria-selected", true);
        span.element.scrollIntoView({ block: "nearest" });
        show(span);
    }

    // --- details
    const first = ["gen_ai.request.model", "gen_ai.provider.name", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
        "co.cost_usd", "gen_ai.response.finish_reasons", "gen_ai.tool.name", "co.approval.answer", "co.turn.end", "error.type"];
    const content = ["gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"];
    function pretty(value) {
        if (typeof value !== "string") return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
        try {
            const parsed = JSON.parse(value);
            return typeof parsed === "object" && parsed ? JSON.stringify(parsed, null, 2) : value;
        } catch {
            return value;
        }
    }
    function field(into, key, value) {
        const text = pretty(value);
        if (text.length <= 200 && !content.includes(key)) {
            into.append(make("dt", key), make("dd", text));
            return;
        }
        const more = make("details");
        more.append(make("summary", `${key} (${text.length} characters)`), make("pre", text));
        const entry = make("dd");
        entry.append(more);
        into.append(entry);
    }
    function show(span) {
        const shown = make("dl");
        const entries = new Map(Object.entries(span.attributes));
        if (span.status === "ERROR") shown.append(make("dt", "error"), make("dd", span.why || "it failed", "status"));
        shown.append(make("dt", "began, took"), make("dd", `${new Date(span.start / 1000).toLocaleString()}, ${duration(span.ms)}`));
        for (const key of [...first, ...content]) {
            if (entries.has(key)) field(shown, key, entries.get(key));
            entries.delete(key);
        }
        const others = make("details");
        const rest = make("dl");
        for (const [key, value] of entries) field(rest, key, value);
        for (const event of Array.isArray(span.events) ? span.events : []) field(rest, `event ${event.name}`, event.attributes ?? {});
        field(rest, "ids", { trace: span.trace, span: span.id, parent: span.parent, kind: span.kind });
        field(rest, "resource", span.resource);
        others.append(make("summary", `+${rest.querySelectorAll("dt, summary").length} others`), rest);
        details.replaceChildren(make("h2", span.name), shown, others);
    }

    // --- keys
    document.addEventListener("keydown", (event) => {
        if (event.target.tagName === "INPUT" && event.key !== "Escape") return;
        if (event.ctrlKey || event.metaKey || event.altKey || !current) return;
        const move = (by) => {
            const to = rows[Math.min(Math.max(rows.indexOf(chosen) + by, 0), rows.length - 1)];
            if (to) choose(to);
        };
        const actions = {
            ArrowDown: () => move(1),
            ArrowUp: () => move(-1),
            PageDown: () => move(20),
            PageUp: () => move(-20),
            ArrowLeft: () => chosen && toggle(chosen, true),
            ArrowRight: () => chosen && toggle(chosen, false),
            Enter: () => { const more = details.querySelectorAll("details"); const to = ![...more].some((one) => one.open); for (const one of more) one.open = to; },
            "/": () => byId("filter").focus(),
            Escape: () => tree.focus(),
            "[": () => open(all[Math.max(all.indexOf(current) - 1, 0)]),
            "]": () => open(all[Math.min(all.indexOf(current) + 1, all.length - 1)]),
        };
        if (event.target.tagName === "SUMMARY" && event.key === "Enter") return;
        if (event.target.tagName === "BUTTON" && event.key === "Enter") return;
        if (actions[event.key]) {
            event.preventDefault();
            actions[event.key]();
        }
    });
    const redraw = () => { if (current) { draw(); if (rows.length) choose(rows.includes(chosen) ? chosen : rows[0]); } };
    byId("filter").addEventListener("input", redraw);
    byId("errors").addEventListener("input", redraw);
    const named = traces.get(location.hash.slice(1));
    if (all.length) open(named ?? all[0]); else tree.append(make("p", "There are no spans."));
    document.body.dataset.ready = "true";
});
