// Opens pages in a headless browser: no console error, no request but the file, no accessibility violation, sorting and copying
// by clicking, both themes, three widths, print. Screenshots go to the folder that is given.
//   node report-test.mjs FOLDER PAGE...
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(path.join(process.cwd(), "index.js"));
const { chromium } = require("playwright-core");
const load = async (name) => (await import(pathToFileURL(require.resolve(name)).href)).default;
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

async function launch() {
  const flags = ["--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-dev-shm-usage", "--in-process-gpu", "--use-gl=angle", "--use-angle=swiftshader"];
  if (process.env.CHROMIUM) return chromium.launch({ executablePath: process.env.CHROMIUM, args: flags });
  const packed = await load("@sparticuz/chromium");
  return chromium.launch({ executablePath: await packed.executablePath(), args: flags });
}

const [folder, ...pages] = process.argv.slice(2);
fs.mkdirSync(folder, { recursive: true });
const problems = [];
let browser;
for (const file of pages) {
  // One browser for each page: pictures of many pages are too much for one.
  browser = await launch();
  const name = path.basename(file, ".html");
  const fail = (what) => problems.push(`${name}: ${what}`);
  const url = pathToFileURL(path.resolve(file)).href;
  if (fs.statSync(file).size > 1_000_000) fail("longer than 1 MB");
  for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 900, height: 800 } });
    const page = await context.newPage();
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && fail(`console: ${message.text()}`));
    page.on("pageerror", (error) => fail(`error: ${error.message}`));
    page.on("request", (request) => request.url() !== url && fail(`request: ${request.url()}`));
    await page.goto(url);
    for (const width of [400, 900, 1600]) {
      await page.setViewportSize({ width, height: 800 });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (over > 0) fail(`${colorScheme}, ${width} pixels: ${over} pixels stick out`);
      if (colorScheme === "light" || width === 900) await shoot(page, width, path.join(folder, `${name}-${colorScheme}-${width}.png`));
    }
    await page.setViewportSize({ width: 900, height: 800 });
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    // Through the protocol, so that the policy of the page stays as it is.
    const client = await context.newCDPSession(page);
    await client.send("Runtime.evaluate", { expression: axe });
    const found = await client.send("Runtime.evaluate", {
      expression: "axe.run().then(r => JSON.stringify(r.violations.map(v => `${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')}`)))",
      awaitPromise: true, returnByValue: true,
    });
    if (found.exceptionDetails) fail(`axe: ${JSON.stringify(found.exceptionDetails).slice(0, 300)}`);
    else for (const one of JSON.parse(found.result.value)) fail(`${colorScheme}, axe: ${one}`);
    if (colorScheme === "light") await clicks(page, fail);
    await context.close();
  }
  await without(url, fail);
  await browser.close();
}
for (const one of problems) console.log(one);
console.log(problems.length ? `${problems.length} problems` : `${pages.length} pages without a problem`);
process.exit(problems.length ? 1 : 0);

// The page from its top, as far as a picture of reasonable size goes.
async function shoot(page, width, file) {
  const whole = await page.evaluate(() => document.documentElement.scrollHeight);
  // A software renderer on a busy machine may not manage a tall picture; a picture is for looking at, not a check.
  for (const most of [4500, 1500]) {
    try {
      await page.setViewportSize({ width, height: Math.min(whole, most) });
      await page.screenshot({ path: file });
      return;
    } catch (error) {
      console.log(`no picture ${path.basename(file)} of ${most} pixels: ${error.message.split("\n")[0]}`);
    }
  }
}

// Sorting by a column of numbers, both ways; the theme; what a button copies.
async function clicks(page, fail) {
  const column = await page.evaluate(() => {
    for (const table of document.querySelectorAll("table")) {
      const cells = [...(table.tBodies[0].rows[0]?.cells ?? [])];
      const at = cells.findIndex((cell) => cell.dataset.v);
      if (at >= 0 && table.tBodies[0].rows.length > 1) return [table.id, at];
    }
    return null;
  });
  if (column) {
    const [id, at] = column;
    const values = () => page.evaluate(([id, at]) => [...document.getElementById(id).tBodies[0].rows].map((row) => row.cells[at].dataset.v).filter((v) => v).map(Number), column);
    const button = page.locator(`[id="${id}"] thead th`).nth(at).locator("button");
    for (const sign of [-1, 1]) {
      await button.click();
      const found = await values();
      if (found.some((value, k) => k > 0 && sign * (value - found[k - 1]) < 0)) fail(`table ${id} is not sorted by column ${at}`);
    }
  }
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => (window.copied = text) } }));
  const copy = page.locator("[data-copy]").first();
  await copy.click();
  const text = await page.evaluate(() => window.copied ?? "");
  const rows = await page.evaluate(() => document.getElementById(document.querySelector("[data-copy]").dataset.copy).rows.length);
  if (text.trimEnd().split("\n").length !== rows) fail(`copied ${text.split("\n").length} lines of a table of ${rows}`);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await ground();
  await page.locator("#theme").click();
  if ((await ground()) === before) fail("the theme does not change");
}

// Without script everything is there, and buttons are not; a print has no chart that is cut.
async function without(url, fail) {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(url);
  if (await page.locator("button.js").first().isVisible()) fail("buttons without script");
  if (!(await page.locator("main h2").first().isVisible())) fail("nothing to read without script");
  await context.close();
  const printed = await browser.newContext({ viewport: { width: 700, height: 900 } });
  const sheet = await printed.newPage();
  await sheet.goto(url);
  await sheet.emulateMedia({ media: "print" });
  const cut = await sheet.evaluate(() => [...document.querySelectorAll("svg.chart")].filter((svg) => svg.getBoundingClientRect().right > innerWidth + 1 || svg.getBoundingClientRect().width < 100).length);
  if (cut) fail(`${cut} charts are cut in print`);
  const pdf = await sheet.pdf({ format: "A4" });
  if (pdf.length < 5000) fail("the print is empty");
  await printed.close();
}
