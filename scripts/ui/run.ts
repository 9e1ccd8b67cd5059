/**
 * The browser application in Chromium, before a gateway with traffic: each page in both themes, wide and at 360 pixels,
 * with axe-core; then what people do on each page (flows/). No page may have an error, an element wider than the
 * screen, or a request to anywhere but the admin port; and nothing secret may be in a page or an answer.
 */
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { startBrowser } from './browser.ts'
import { FLOWS } from './flows/index.ts'
import { CANARY, type Stage, startStage } from './stage.ts'

const ROUNDS = 12
const SIZES = [
  { name: 'wide', width: 1360, height: 900 },
  { name: 'narrow', width: 360, height: 740 }
] as const
const THEMES = ['light', 'dark'] as const

/** What is wrong, with where. */
type Report = (where: string, what: string) => void

interface Finding {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

/** `shots`: a folder for pictures of every page. `only`: part of the name of a page. False: something is wrong. */
export async function runUi(log: (line: string) => void, only: string, shots: string | null): Promise<boolean> {
  const wrong: string[] = []
  const report: Report = (where, what) => void wrong.push(`${where}: ${what}`)
  const browser = await startBrowser()
  const stage = await startStage()
  try {
    await stage.traffic(ROUNDS)
    const pages = (await pagesOf(browser, stage, report)).filter((name) => name.includes(only))
    for (const name of pages) {
      const before = wrong.length
      // A picture of a gateway is that of one with traffic.
      const trickle = stage.trickle()
      await lookAt(browser, stage, name, shots, report).finally(() => trickle.stop())
      for (const flow of FLOWS.filter(({ page }) => page === name)) await follow(browser, stage, flow, shots, report)
      if (!FLOWS.some(({ page }) => page === name)) report(name, 'it has no flow in scripts/ui/flows')
      log(`${name}: ${wrong.length === before ? 'ok' : `${wrong.length - before} wrong`}`)
    }
  } finally {
    await browser.close()
    await stage.stop()
  }
  for (const line of wrong) log(`  ${line}`)
  log(`ui: ${wrong.length} wrong`)
  return wrong.length === 0
}

/** Names of all pages, from the navigation. */
async function pagesOf(browser: Browser, stage: Stage, report: Report): Promise<string[]> {
  const page = await open(browser, stage, 'navigation', report)
  await page.goto(`${stage.admin}/ui/`)
  const links = page.locator('nav li a')
  await links.first().waitFor()
  const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
  await page.context().close()
  return paths.map((path) => path.replace('/ui/', ''))
}

/** A page that reports its errors, its requests to elsewhere, and secrets in answers. */
async function open(browser: Browser, stage: Stage, where: string, report: Report): Promise<Page> {
  const context = await browser.newContext({ acceptDownloads: true })
  const page = await context.newPage()
  page.on('pageerror', (error) => report(where, `error: ${error.message}`))
  page.on('console', (message) => {
    // The browser's own line about an answer that a flow asks for.
    const isAnswer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isAnswer) report(where, `console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${stage.admin}/`) && !/^(?:data|blob):/.test(url)) report(where, `request to ${url}`)
  })
  page.on('response', async (response) => {
    const body = await response.text().catch(() => '')
    if (body.includes(CANARY)) report(where, `a secret is in the answer of ${response.url()}`)
  })
  return page
}

async function lookAt(
  browser: Browser,
  stage: Stage,
  name: string,
  shots: string | null,
  report: Report
): Promise<void> {
  for (const theme of THEMES) {
    for (const size of SIZES) {
      const where = `${name}, ${theme}, ${size.name}`
      const page = await open(browser, stage, where, report)
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
      await page.setViewportSize(size)
      await page.goto(`${stage.admin}/ui/${name}`)
      await settled(page)
      await judge(page, where, report)
      if (shots !== null) await shoot(page, shots, `${name}-${theme}-${size.name}`)
      await page.context().close()
    }
  }
}

/** Everything that a page asks for first has come. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main > *').first().waitFor()
  await page.locator('main:not(:has(.loading))').waitFor()
  await page.evaluate('document.fonts.ready.then(() => true)')
}

async function judge(page: Page, where: string, report: Report): Promise<void> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  await page.evaluate(source)
  const options = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }
  const found = await page.evaluate(`axe.run(document, ${JSON.stringify(options)}).then((all) => all.violations)`)
  for (const { id, help, nodes } of found as Finding[]) {
    for (const { html, failureSummary = '' } of nodes.slice(0, 3))
      report(where, `axe ${id}: ${help}: ${html.slice(0, 160)} ${failureSummary.split('\n').slice(1, 2).join('')}`)
  }
  const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
  if (Number(overflow) > 0) report(where, `it is ${overflow} pixels wider than the screen`)
  if ((await page.content()).includes(CANARY)) report(where, 'a secret is in the page')
}

async function follow(
  browser: Browser,
  stage: Stage,
  { page: name, does, run }: (typeof FLOWS)[number],
  shots: string | null,
  report: Report
): Promise<void> {
  const where = `${name}: ${does}`
  const page = await open(browser, stage, where, report)
  await page.setViewportSize(SIZES[0])
  page.setDefaultTimeout(15_000)
  try {
    await page.goto(`${stage.admin}/ui/${name}`)
    await settled(page)
    await run(page, stage)
    await judge(page, where, report)
  } catch (problem) {
    report(where, (problem as Error).message.split('\n').slice(0, 6).join(' '))
  }
  if (shots !== null) await shoot(page, shots, `${name}-flow-${does.replace(/\W+/g, '-').slice(0, 60)}`)
  await page.context().close()
}

async function shoot(page: Page, folder: string, name: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}
