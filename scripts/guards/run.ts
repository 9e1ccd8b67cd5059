/**
 * `npm run conformance -- guards`: the builtins of prompt guards over texts of public corpora (corpora.py), beside the
 * pattern recognisers of Presidio. Prints the tables of docs/guards.md.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { BUILTIN_NAMES, type Builtin } from '#engine/kit/scan/builtins.ts'
import { rulesOf, spansOf } from '#engine/kit/scan/rules.ts'
import { pinnedPython } from '#engine/testing/pinned.ts'
import { type Case, type Find, precision, type Result, recall, resultOf } from './score.ts'

const CORPORA = fileURLToPath(new URL('./corpora.py', import.meta.url))
const REQUIREMENTS = fileURLToPath(new URL('./requirements.txt', import.meta.url))
const SEED = 20_261_122
const RUN_MS_MAX = 900_000
/** Its texts have nothing in them. */
const NEGATIVES = 'negatives'
/** The least that is accepted, of all corpora together. */
const PRECISION_MIN = 0.95

interface Package {
  readonly name: string
  readonly version: string
  readonly licence: string
}

/** Prints the tables. False: a detector is below PRECISION_MIN over all corpora. */
export async function runGuards(print: (line: string) => void): Promise<boolean> {
  const { packages, cases } = await readCorpora()
  print(`Seed ${SEED}; ${packages.map(({ name, version, licence }) => `${name} ${version} (${licence})`).join(', ')}.`)
  const all = BUILTIN_NAMES.map((name) => resultOf(name, 'all', cases, finderOf(name)))
  print('')
  for (const line of table('corpus', [...byCorpus(cases), ...all].sort(inOrder))) print(line)
  print('')
  const phones = cases.filter(({ spans }) => spans.some(([, , label]) => label === 'PhoneNumber'))
  const written = phones.filter(({ corpus }) => corpus === 'libphonenumber' || corpus === 'Faker')
  for (const line of table('written', byKind('PhoneNumber', written))) print(line)
  print('')
  for (const line of mistakes(cases.filter(({ corpus }) => corpus === NEGATIVES))) print(line)
  return all.every(({ weir }) => Number(precision(weir)) >= PRECISION_MIN)
}

/** All on one line each: the packages first. */
async function readCorpora(): Promise<{ packages: Package[]; cases: Case[] }> {
  const python = await pinnedPython('weir-guards', REQUIREMENTS, ['--no-deps'])
  const child = spawn(python, [CORPORA, String(SEED)], { stdio: ['ignore', 'pipe', 'inherit'], timeout: RUN_MS_MAX })
  const ended = once(child, 'exit')
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) lines.push(line)
  const [code] = (await ended) as [number | null]
  if (code !== 0) throw new Error(`corpora.py: exit code ${code}`)
  const { packages } = JSON.parse(lines[0]!) as { packages: Package[] }
  return { packages, cases: lines.slice(1).map((line) => JSON.parse(line) as Case) }
}

function finderOf(name: Builtin): Find {
  const rules = rulesOf({ builtins: [name], patterns: [] })
  return (text) => spansOf(text, rules).map(({ start, end }) => [start, end] as const)
}

const namesOf = (cases: readonly Case[], of: (one: Case) => string): string[] => [...new Set(cases.map(of))]

function byCorpus(cases: readonly Case[]): Result[] {
  return namesOf(cases, ({ corpus }) => corpus).flatMap((corpus) =>
    BUILTIN_NAMES.map((name) => {
      const own = cases.filter((one) => one.corpus === corpus)
      return resultOf(name, corpus, own, finderOf(name))
    })
  )
}

function byKind(name: Builtin, cases: readonly Case[]): Result[] {
  const nameOf = ({ corpus, kind }: Case): string => `${corpus}, ${kind}`
  return namesOf(cases, nameOf).map((kind) => {
    const own = cases.filter((one) => nameOf(one) === kind)
    return resultOf(name, kind, own, finderOf(name))
  })
}

const inOrder = (a: Result, b: Result): number =>
  BUILTIN_NAMES.indexOf(a.detector as Builtin) - BUILTIN_NAMES.indexOf(b.detector as Builtin)

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`

function head(cells: readonly string[]): string[] {
  return [row(cells), row(cells.map(() => '---'))]
}

function table(place: string, results: readonly Result[]): string[] {
  const lines = head(['detector', place, 'texts', 'n', 'recall', 'precision', 'Presidio: recall', 'precision'])
  for (const { detector, corpus, texts, weir, presidio } of results) {
    const scores = [recall(weir), precision(weir), recall(presidio), precision(presidio)]
    lines.push(row([detector, corpus, texts, weir.wanted, ...scores]))
  }
  return lines
}

/** How often a detector finds something where nothing is: ours, and Presidio's. */
function mistakes(cases: readonly Case[]): string[] {
  const lines = head(['of 300', ...BUILTIN_NAMES])
  for (const kind of namesOf(cases, (one) => one.kind)) {
    const own = cases.filter((one) => one.kind === kind)
    const results = BUILTIN_NAMES.map((name) => resultOf(name, kind, own, finderOf(name)))
    lines.push(row([kind, ...results.map(({ weir, presidio }) => `${weir.wrong} (${presidio.wrong})`)]))
  }
  return lines
}
