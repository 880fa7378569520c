// What the pages do beyond links and forms; each works without it. Compiled by `make proto` into static/console.js.
// The console answers within this time or not at all: a cut line may hang without an error.
const ANSWER_MS = 20_000;
/** Copy a text, and show that it was. */
function copying() {
    document.addEventListener("click", (event) => {
        const target = event.target instanceof Element ? event.target.closest("[data-copy]") : null;
        if (target === null || String(window.getSelection()) !== "")
            return;
        copy(target);
    });
    for (const id of document.querySelectorAll("p.sub > code[data-copy]")) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "quiet";
        button.textContent = "Copy";
        button.setAttribute("aria-label", "Copy the id");
        button.addEventListener("click", () => copy(id));
        id.after(" ", button);
    }
}
function copy(text) {
    navigator.clipboard?.writeText(text.innerText).then(() => {
        text.classList.add("copied");
        window.setTimeout(() => text.classList.remove("copied"), 600);
    }, () => undefined);
}
/** "/" goes to the search box; Escape leaves it; "g" and a letter go to a page. */
function keys() {
    const pages = {
        o: "/", c: "/contexts", w: "/windows", g: "/graph", m: "/memory", h: "/history", r: "/mappings", s: "/sources", a: "/access",
    };
    let going = false;
    document.addEventListener("keydown", (event) => {
        const target = event.target;
        const writes = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
        if (event.key === "Escape" && target instanceof HTMLInputElement && target.matches("[data-search]"))
            target.blur();
        if (writes || event.ctrlKey || event.metaKey || event.altKey)
            return;
        if (event.key === "/") {
            event.preventDefault();
            document.querySelector("[data-search]")?.focus();
        }
        else if (going && pages[event.key] !== undefined) {
            window.location.assign(pages[event.key]);
        }
        going = event.key === "g" && !going;
    });
}
/** What a cell is sorted by: a time, a number, or its text. */
function sortKey(row, column) {
    const cell = row.cells[column];
    const time = cell?.querySelector("time");
    if (time)
        return Date.parse(time.dateTime);
    const text = cell?.innerText.trim() ?? "";
    if (cell?.matches(".k-number, .k-share, .k-size") !== true)
        return text.toLowerCase();
    const [digits = "", unit = ""] = text.replaceAll(",", "").split(" ");
    const scale = { kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
    const value = Number.parseFloat(digits) * (scale[unit] ?? 1);
    return Number.isNaN(value) ? -Infinity : value;
}
/** Sort the rows of a table that are shown, by the head that is clicked. */
function sorting() {
    for (const table of document.querySelectorAll("table[data-sort]")) {
        const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
        heads.forEach((head, column) => {
            const button = document.createElement("button");
            button.type = "button";
            button.textContent = head.textContent;
            head.replaceChildren(button);
            button.addEventListener("click", () => {
                const descending = head.getAttribute("aria-sort") === "ascending";
                for (const other of heads)
                    other.removeAttribute("aria-sort");
                head.setAttribute("aria-sort", descending ? "descending" : "ascending");
                const body = table.tBodies[0];
                if (body === undefined)
                    return;
                const rows = [...body.rows].map((row) => ({ row, key: sortKey(row, column) }));
                rows.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0) * (descending ? -1 : 1));
                body.append(...rows.map(({ row }) => row));
            });
        });
    }
}
/** A cell for a file; no spreadsheet takes it for a formula. */
function csvCell(text) {
    const safe = /^[=+@\t\r]|^-(?![\d.])/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
/** Give a table that is drawn from values, such as the table of a chart, its two files: the page has all its rows. */
function exporting() {
    for (const table of document.querySelectorAll("table[data-export]:not([data-exports])")) {
        table.dataset["exports"] = "";
        const line = document.createElement("p");
        line.className = "exports";
        line.append("Export ");
        for (const kind of ["csv", "json"]) {
            const button = document.createElement("button");
            button.type = "button";
            button.className = "quiet";
            button.textContent = kind.toUpperCase();
            button.addEventListener("click", () => save(table, kind));
            line.append(button, " ");
        }
        table.after(line);
    }
}
/** What a cell says: a number without the commas that people read it by, or its text. */
function valueOf(cell) {
    const text = (cell.textContent ?? "").trim();
    const value = Number(text.replaceAll(",", ""));
    return cell.matches(".k-number") && text !== "" && !Number.isNaN(value) ? value : text;
}
function save(table, kind) {
    const names = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.innerText.trim());
    const rows = [...(table.tBodies[0]?.rows ?? [])].map((row) => [...row.cells].map(valueOf));
    const text = kind === "csv"
        ? [names, ...rows].map((row) => row.map((value) => csvCell(String(value))).join(",")).join("\r\n")
        : JSON.stringify(rows.map((row) => Object.fromEntries(row.map((value, place) => [names[place] ?? place, value]))), null, 1);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kind === "csv" ? "text/csv" : "application/json" }));
    link.download = `${table.dataset["export"]}.${kind}`;
    link.click();
    window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
/** Say whether a recording plays in a part of the page; a reload would stop it. */
function isPlaying(part) {
    return [...part.querySelectorAll("audio")].some((audio) => !audio.paused);
}
/** Put the pictures that are loaded already into the new content of a part, so that none is fetched again. */
function keepLoaded(part, content) {
    const loaded = new Map([...part.querySelectorAll("a.file img")].map((image) => [image.src, image]));
    for (const image of content.querySelectorAll("a.file img")) {
        const same = loaded.get(new URL(image.getAttribute("src") ?? "", location.href).href);
        if (same !== undefined)
            image.replaceWith(same);
    }
}
/** Put a line of text in the place of a picture that cannot be drawn. */
function undrawn() {
    document.addEventListener("error", (event) => {
        const image = event.target;
        if (!(image instanceof HTMLImageElement) || image.closest(".file, .viewed, td, li") === null)
            return;
        const line = document.createElement("span");
        line.className = "undrawn";
        line.textContent = image.closest("td, li") === null ? `${image.alt}: it cannot be drawn` : "";
        image.replaceWith(line);
    }, true);
}
/**
 * Show a file over the page that names it. Escape closes it; the arrows turn the pages of a PDF, and go to the file
 * before or after it.
 */
function viewing() {
    const dialog = document.createElement("dialog");
    dialog.className = "viewer";
    dialog.setAttribute("aria-label", "File");
    const body = document.createElement("div");
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "Close";
    close.addEventListener("click", () => dialog.close());
    const bar = document.createElement("p");
    bar.className = "bar-of-viewer";
    const place = document.createElement("span");
    bar.append(place, close);
    dialog.append(bar, body);
    document.body.append(dialog);
    let here = null;
    let asked = 0;
    const links = () => [...document.querySelectorAll("main a[data-file]")];
    const show = async (address) => {
        const number = ++asked;
        const url = new URL(address, location.href);
        url.searchParams.set("view", "alone");
        try {
            const answer = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(ANSWER_MS) });
            if (number !== asked)
                return; // the visitor has gone on
            if (!answer.ok)
                throw new Error(String(answer.status));
            const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
            body.replaceChildren(...parsed.body.childNodes);
            times();
        }
        catch {
            if (number === asked)
                window.location.assign(address); // its own page shows the error
            return;
        }
        const all = links();
        const position = here === null ? -1 : all.findIndex((link) => link.href === here?.href);
        place.textContent = position < 0 ? "" : `${position + 1} of ${all.length}`;
        if (!dialog.open)
            dialog.showModal();
        dialog.scrollTop = 0;
    };
    /** Turn the page of a PDF, or go to another file. */
    const turn = (way) => {
        const page = body.querySelector(way === 1 ? "a[rel=next]" : "a[rel=prev]");
        if (page !== null && here !== null) {
            void show(here.href + (page.getAttribute("href") ?? ""));
            return;
        }
        const all = links();
        const link = all[all.findIndex((each) => each.href === here?.href) + way];
        if (link === undefined)
            return;
        here = link;
        void show(link.href);
    };
    document.addEventListener("click", (event) => {
        if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
            return;
        const target = event.target instanceof Element ? event.target : null;
        const link = target?.closest("main a[data-file]");
        const page = target?.closest("dialog.viewer a[rel]");
        if (link) {
            event.preventDefault();
            here = link;
            void show(link.href);
        }
        else if (page) {
            event.preventDefault();
            turn(page.rel === "next" ? 1 : -1);
        }
    });
    dialog.addEventListener("keydown", (event) => {
        if (event.target instanceof HTMLAudioElement)
            return; // where arrows seek
        if (event.key === "ArrowRight")
            turn(1);
        if (event.key === "ArrowLeft")
            turn(-1);
    });
    dialog.addEventListener("close", () => {
        body.replaceChildren(); // a recording must not play on
        const back = links().find((link) => link.href === here?.href);
        back?.focus();
    });
    // The page of a file alone turns by the same keys.
    document.addEventListener("keydown", (event) => {
        if (dialog.open || event.target instanceof HTMLInputElement || event.target instanceof HTMLAudioElement)
            return;
        if (event.key !== "ArrowRight" && event.key !== "ArrowLeft")
            return;
        document.querySelector(`main .viewed a[rel=${event.key === "ArrowRight" ? "next" : "prev"}]`)?.click();
    });
}
/** Reload parts of the page that change by themselves, while the page is visible. */
function living() {
    for (const part of document.querySelectorAll("[data-live]")) {
        let shown = "";
        let asking = false;
        const again = async () => {
            if (document.hidden || asking || isPlaying(part))
                return;
            asking = true;
            try {
                const answer = await fetch(part.dataset["live"], { redirect: "error", signal: AbortSignal.timeout(ANSWER_MS) });
                if (!answer.ok)
                    throw new Error(String(answer.status));
                const text = await answer.text();
                if (text === shown)
                    return; // parts that the visitor has opened or marked stay as they are
                shown = text;
                const parsed = new DOMParser().parseFromString(text, "text/html");
                keepLoaded(part, parsed.body);
                part.replaceChildren(...parsed.body.childNodes);
                times();
                exporting();
            }
            catch {
                shown = "";
                const away = document.createElement("p");
                away.className = "trouble lost";
                away.textContent = "The console does not answer, or the session has ended. Load the page again.";
                part.replaceChildren(away);
            }
            finally {
                asking = false;
            }
        };
        window.setInterval(() => void again(), Number(part.dataset["seconds"] ?? "10") * 1000);
    }
}
/** Fetch the next rows of a table when the visitor comes to its end, and append them. */
function scrolling() {
    const seen = new IntersectionObserver((entries) => {
        for (const { target, isIntersecting } of entries) {
            if (isIntersecting && target instanceof HTMLAnchorElement)
                void more(target);
        }
    }, { rootMargin: "600px" });
    const more = async (link) => {
        seen.unobserve(link);
        const panel = link.closest("section.panel");
        const body = panel?.querySelector("tbody");
        if (!panel || !body)
            return;
        try {
            const answer = await fetch(link.href, { redirect: "error", signal: AbortSignal.timeout(ANSWER_MS) });
            if (!answer.ok)
                return; // the link stays, for who clicks it
            const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
            const found = parsed.getElementById(panel.id);
            const rows = [...(found?.querySelectorAll("tbody tr") ?? [])].slice(body.rows.length);
            body.append(...rows);
            const count = found?.querySelector(".count");
            if (count)
                panel.querySelector(".count")?.replaceWith(count);
            const next = found?.querySelector(".more");
            panel.querySelector(".more")?.replaceWith(...(next ? [next] : []));
            times();
            const follows = next?.querySelector("a");
            if (follows)
                seen.observe(follows);
        }
        catch {
            // The link stays, for who clicks it.
        }
    };
    for (const link of document.querySelectorAll("section.panel > .more a[data-more]"))
        seen.observe(link);
}
/** Say in a title when a time is here, not in UTC. */
function times() {
    for (const time of document.querySelectorAll("time")) {
        const when = new Date(time.dateTime);
        if (!Number.isNaN(when.getTime()))
            time.title = `${when.toLocaleString()} (here); ${time.dateTime}`;
    }
}
/** Show how far an upload is. */
function uploads() {
    for (const form of document.querySelectorAll("form[data-upload]")) {
        const progress = form.querySelector("progress");
        form.addEventListener("submit", (event) => {
            if (progress === null)
                return;
            event.preventDefault();
            progress.hidden = false;
            const request = new XMLHttpRequest();
            request.upload.addEventListener("progress", (sent) => {
                if (sent.lengthComputable)
                    progress.value = (100 * sent.loaded) / sent.total;
            });
            request.addEventListener("load", () => {
                if (request.status < 400) {
                    window.location.assign(request.responseURL);
                    return;
                }
                const answer = new DOMParser().parseFromString(request.responseText, "text/html");
                const trouble = answer.querySelector(".trouble") ?? document.createElement("p");
                if (trouble.textContent === "")
                    trouble.textContent = request.responseText;
                trouble.classList.add("trouble");
                form.querySelector(".trouble")?.remove();
                form.append(trouble);
                progress.hidden = true;
            });
            request.addEventListener("error", () => {
                progress.hidden = true;
            });
            request.open("POST", form.action);
            request.send(new FormData(form));
        });
    }
}
/** Reload a page that the browser kept, and shows again by its button "back": the session may have ended. */
function returning() {
    window.addEventListener("pageshow", (event) => {
        if (event.persisted)
            window.location.reload();
    });
}
copying();
keys();
sorting();
exporting();
living();
times();
scrolling();
uploads();
undrawn();
viewing();
returning();
export {};
