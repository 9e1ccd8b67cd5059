/** `weir prices`: what models cost, and what is not known of that, on the standard output. */
import type { NamedModel, Price, PriceRow, PriceSettings } from '#engine/contract/price-list.ts'
import { nearestWord } from '#engine/kit/nearest.ts'
import { NO_SETTINGS } from '#engine/prices/book.ts'
import { type CheckedModel, checkPrices, type PriceCheck } from '#engine/prices/check.ts'
import { nameOf, originOf, rowLines, shownRow } from '#engine/prices/shown.ts'
import { PriceTable } from '#engine/prices/table.ts'
import type { SnapshotDraft } from '#engine/standalone/load.ts'
import { EXIT_FAILURE } from './cli.ts'
import type { ProgramParts } from './parts.ts'
import type { PricesQuestion } from './prices-options.ts'
import { leave, plural } from './words.ts'

type Parts = Pick<ProgramParts, 'backends' | 'priceCatalogue'>
type BackendModel = NamedModel & { readonly backend: string }

/** `now`: milliseconds since 1970. */
export function answerPrices(question: PricesQuestion, draft: SnapshotDraft, parts: Parts, now: number): void {
  const own = draft.gateway.frontend.prices as PriceSettings | undefined
  const settings = own ?? NO_SETTINGS
  const models = modelsOf(draft, parts)
  if (question.kind === 'show') {
    show(question, settings, rowsOf(settings, models, parts))
    return
  }
  const { daysMax, hasConfig, isJson } = question
  const catalogue = parts.priceCatalogue()
  const check = checkPrices({ settings, catalogue, models: hasConfig ? models : null, now, daysMax })
  const isUsed = own !== undefined || !hasConfig
  print(isJson ? checkJson(check, settings) : checkText(check, { daysMax, isUsed, hasConfig }))
  const isWrong = check.older.length > 0 || check.models.some(({ verdict }) => verdict === 'unknown')
  if (isWrong) process.exitCode = EXIT_FAILURE
}

function modelsOf({ backends }: SnapshotDraft, { backends: kinds }: Parts): readonly BackendModel[] {
  return Object.entries(backends).flatMap(([backend, spec]) => {
    const kind = kinds.find((one) => one.kind === spec.kind)
    return (kind?.models?.(spec as never) ?? []).map((model) => ({ ...model, backend }))
  })
}

/** The strongest first. */
function rowsOf(settings: PriceSettings, models: readonly BackendModel[], { priceCatalogue }: Parts): readonly Price[] {
  const own = new Set(models.flatMap((model) => model.own))
  const lists: [Price['origin'], Iterable<PriceRow>][] = [
    ['backend', own],
    ['config', settings.rows],
    ['catalogue', settings.catalogue ? priceCatalogue() : []]
  ]
  return lists.flatMap(([origin, rows]) => Array.from(rows, (row): Price => ({ row, origin })))
}

// --- show ---

function show(
  { name, isJson }: PricesQuestion & { kind: 'show' },
  settings: PriceSettings,
  all: readonly Price[]
): void {
  const found = rowsFor(name.toLowerCase(), all)
  if (found.length === 0) {
    const names = all.flatMap(({ row }) => [row.model, row.provider ?? row.model])
    const near = nearestWord(name.toLowerCase(), [...new Set(names)])
    const hint = near === null ? 'weir prices show PROVIDER lists what there is' : `did you mean ${near}?`
    leave(EXIT_FAILURE, `weir: there is no price for ${JSON.stringify(name)}; ${hint}\n`)
    return
  }
  const { currency } = settings
  const text = found.map((price) => rowLines(price, currency).join('\n')).join('\n\n')
  print(isJson ? json({ currency, rows: found.map(shownRow) }) : `${text}\n`)
}

/** Of a provider, or of a model as the price book finds it at each provider; "openai/gpt-4o": of one of them. */
function rowsFor(name: string, all: readonly Price[]): readonly Price[] {
  const ofProvider = all.filter(({ row }) => row.provider === name)
  if (ofProvider.length > 0) return ofProvider
  const found = modelRows(name, all)
  const slash = name.indexOf('/')
  if (found.length > 0 || slash < 0) return found
  const provider = name.slice(0, slash)
  return modelRows(
    name.slice(slash + 1),
    all.filter(({ row }) => row.provider === provider || row.provider === null)
  )
}

function modelRows(model: string, all: readonly Price[]): readonly Price[] {
  const providers = [...new Set(all.map(({ row }) => row.provider))]
  const origins = [...new Set(all.map(({ origin }) => origin))]
  return origins.flatMap((origin) =>
    providers.flatMap((provider) => {
      const prices = all.filter((price) => price.origin === origin && price.row.provider === provider)
      const row = new PriceTable(prices.map((price) => price.row)).find(provider ?? '', model)
      return row === null ? [] : [{ row, origin }]
    })
  )
}

// --- check ---

interface CheckedHow {
  readonly daysMax: number
  /** Costs are worked out for all calls. */
  readonly isUsed: boolean
  readonly hasConfig: boolean
}

const AFTERWARDS: { readonly [verdict in 'provider' | 'answer']: string } = {
  provider: 'the provider tells what a call has cost',
  answer: 'a deployment: its price is that of the model that answers name'
}

function checkText({ models, open, older, single }: PriceCheck, { daysMax, isUsed, hasConfig }: CheckedHow): string {
  const unknown = models.filter(({ verdict }) => verdict === 'unknown')
  const later = models.flatMap((model) =>
    model.verdict === 'provider' || model.verdict === 'answer' ? [`${called(model)}: ${AFTERWARDS[model.verdict]}`] : []
  )
  const lines = [
    ...section('no price (config.prices.models can say it)', unknown.map(called)),
    ...section('known with the answer', later),
    ...section(
      'models that clients name, whose price is looked up with each call',
      open.map(({ provider, backends }) => `${provider} (${backends.join(', ')})`)
    ),
    ...section(
      `looked up more than ${plural(daysMax, 'day')} ago`,
      older.map((price) => `${nameOf(price.row)}: ${originOf(price)}`)
    ),
    ...section('one collection alone has the price, or they differ', byProvider(single))
  ]
  if (!isUsed)
    lines.push('config.prices is not in the file: costs are worked out for budgets alone (`prices: {}` is enough)')
  const count = hasConfig
    ? `${plural(models.length, 'model')}: ${unknown.length} without a price, ${older.length} with an old one`
    : `the catalogue: ${plural(older.length, 'old row')}, ${single.length} of one collection; -f FILE checks models`
  return `${[...lines, count].map(printable).join('\n')}\n`
}

const called = ({ provider, model, backends }: CheckedModel): string => `${provider} ${model} (${backends.join(', ')})`

function section(title: string, entries: readonly string[]): string[] {
  return entries.length === 0 ? [] : [title, ...entries.map((entry) => `  ${entry}`)]
}

function byProvider(prices: readonly Price[]): readonly string[] {
  const names = new Map<string, string[]>()
  for (const { row } of prices) {
    const provider = row.provider ?? 'any provider'
    names.set(provider, [...(names.get(provider) ?? []), row.model])
  }
  return [...names].map(([provider, models]) => `${provider}: ${models.join(', ')}`)
}

/** Names of a configuration may have any character: none may steer a terminal. */
const printable = (line: string): string => line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\uFFFD')

function checkJson({ models, open, older, single }: PriceCheck, { currency }: PriceSettings): string {
  const shown = models.map(({ price, ...model }) => ({ ...model, price: price === null ? null : shownRow(price) }))
  return json({ currency, models: shown, open, older: older.map(shownRow), single: single.map(shownRow) })
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** A reader that leaves after the first lines is no error. */
function print(text: string): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  process.stdout.write(text)
}
