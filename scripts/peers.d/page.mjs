// Opens pages of traces in a real browser: tree, folding, filter, keys, and that nothing in a span runs.
// Usage: node page.mjs CHROMIUM TRACES.html MANY.html MATRIX.html
import assert from "node:assert";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const puppeteer = createRequire(`${process.cwd()}/`)("puppeteer-core");
const [chromium, traces, many, matrix] = process.argv.slice(2);
const browser = await (puppeteer.default ?? puppeteer).launch({ executablePath: chromium, args: ["--no-sandbox"] });
const faults = [];
const open = async (path) => {
    const page = await browser.newPage();
    page.on("pageerror", (error) => faults.push(`${path}: ${error}`));
    page.on("dialog", (dialog) => faults.push(`${path}: a dialog: ${dialog.message()}`));
    page.on("console", (message) => message.type() === "error" && faults.push(`${path}: ${message.text()}`));
    page.on("request", (request) => request.url().startsWith("file:") || faults.push(`${path}: fetches ${request.url()}`));
    await page.goto(pathToFileURL(path).href);
    return page;
};
try {
    const page = await open(traces);
    await page.waitForSelector("body[data-ready=true]");
    const rows = () => page.$$eval(".row .title", (all) => all.map((one) => one.textContent));
    const whole = await rows();
    assert(whole.length >= 8, `${whole}`);
    assert.strictEqual(whole[0], "invoke_agent co");
    assert.strictEqual(await page.title(), "Traces of co", "a span ran a script");

    // Folding, by a click and by keys.
    await page.click(".row .fold");
    assert.deepStrictEqual(await rows(), ["invoke_agent co"]);
    await page.focus("#tree");
    await page.keyboard.press("ArrowRight");
    assert.deepStrictEqual(await rows(), whole);
    await page.keyboard.press("ArrowDown");
    const chosen = () => page.$eval(".row[aria-selected=true] .title", (one) => one.textContent);
    assert.strictEqual(await chosen(), whole[1]);
    await page.keyboard.press("Enter");
    assert(await page.$eval("#details details", (one) => one.open));

    // The filter keeps what matches, and what it hangs on.
    await page.keyboard.press("/");
    await page.keyboard.type("execute_tool");
    const filtered = await rows();
    assert(filtered.length < whole.length && filtered.some((name) => name.startsWith("execute_tool ")), `${filtered}`);
    assert.strictEqual(filtered[0], "invoke_agent co");
    await page.$eval("#filter", (field) => { field.value = "no such words"; field.dispatchEvent(new Event("input")); });
    assert.deepStrictEqual(await rows(), []);
    await page.$eval("#filter", (field) => { field.value = ""; field.dispatchEvent(new Event("input")); });

    // Light and dark differ.
    const colours = [];
    for (const value of ["light", "dark"]) {
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
        colours.push(await page.$eval("body", (body) => getComputedStyle(body).backgroundColor));
    }
    assert.notStrictEqual(colours[0], colours[1]);

    const began = Date.now();
    const large = await open(many);
    await large.waitForSelector("body[data-ready=true]");
    const took = Date.now() - began;
    assert((await large.$$(".row")).length > 9000);
    console.log(`10,000 spans were shown after ${took} ms`);

    const report = await open(matrix);
    assert((await report.$$("tbody tr")).length > 0);
    assert.deepStrictEqual(faults, []);
} finally {
    await browser.close();
}
