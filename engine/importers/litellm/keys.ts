/** Who may call, and what all may spend: the master key and the budget of the proxy -> `keys` and `organisations`. */

import { hash } from 'node:crypto'
import type { ForeignFile } from '#engine/contract/importer.ts'
import type { Draft } from '#engine/importers/draft.ts'
import { objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import { isSet, numberOf, textOf } from './texts.ts'

/** What all keys belong to when the proxy has a budget. */
const ORGANISATION = 'proxy'
/** Shorter ones may only be written as their hash (engine/accounts/schema.ts). */
const KEY_CHARS_MIN = 8
const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const
/** By the calendar in LiteLLM, too ("Budget Reset Times and Timezones" of its docs). */
const PERIODS: ReadonlyMap<number, string> = new Map([
  [3600, 'Hour'],
  [86_400, 'Day'],
  [604_800, 'Week'],
  [2_592_000, 'Month']
])

/** Fills draft.value, and returns what the policy virtualKeys of a port says; null: without a master key it is open. */
export function addKeys(files: readonly ForeignFile[], environment: Raw, draft: Draft): Raw | null {
  const key = textOf(settingOf(files, 'general_settings', 'master_key')?.value, environment)
  const budget = budgetOf(files, environment, draft, key !== undefined)
  if (key === undefined) return null
  const master = { name: 'master', ...secretOf(key, draft) }
  const concurrency = numberOf(settingOf(files, 'general_settings', 'global_max_parallel_requests')?.value)
  const limits = {
    ...(budget === null ? {} : { budgets: [budget] }),
    ...(concurrency === undefined ? {} : { concurrency })
  }
  const isLimited = Object.keys(limits).length > 0
  draft.value.keys = [isLimited ? { ...master, organisation: ORGANISATION } : master]
  if (isLimited) draft.value.organisations = [{ name: ORGANISATION, ...limits }]
  if (budget === null) return {}
  draft.comment(['organisations'], ['What is spent outlives the process with config.state: { path: FOLDER }.'])
  // To LiteLLM a call without a known price costs nothing.
  return { unknownPrice: 'Allow' }
}

/** Of the last file that has it. */
export function settingOf(files: readonly ForeignFile[], section: string, key: string) {
  const found = files.map((file) => ({
    file,
    path: [section, key],
    value: objectOf(objectOf(file.value)[section])[key]
  }))
  return found.findLast(({ value }) => isSet(value))
}

function secretOf(key: string, draft: Draft): Raw {
  const plain = key.replaceAll('$$', '$')
  const isVariable = key !== plain.replaceAll('$', '$$$$')
  if (isVariable || plain.length >= KEY_CHARS_MIN) return { key }
  draft.comment(['keys'], [`The master_key has less than ${KEY_CHARS_MIN} characters: whoever guesses may call.`])
  return { keyHash: `sha256:${hash('sha256', plain)}` }
}

function budgetOf(files: readonly ForeignFile[], environment: Raw, draft: Draft, hasKey: boolean): Raw | null {
  const found = settingOf(files, 'litellm_settings', 'max_budget')
  if (found === undefined) return null
  const { file, path, value } = found
  const number = numberOf(value)
  if (!hasKey) draft.note(file, path, 'is counted by keys, and there is no master_key')
  else if (number !== undefined && number <= 0) draft.note(file, path, 'is no amount that can be spent: revoke keys')
  else {
    const amount = number ?? textOf(value, environment)
    const time = settingOf(files, 'litellm_settings', 'budget_duration')
    const zone = textOf(settingOf(files, 'litellm_settings', 'timezone')?.value, environment)
    const period = time === undefined ? { period: 'Total' } : periodOf(time, draft)
    return { amount, ...period, ...('period' in period && zone !== undefined ? { timeZone: zone } : {}) }
  }
  return null
}

function periodOf({ file, path, value }: { file: ForeignFile; path: Path; value: unknown }, draft: Draft) {
  if (value === '1mo') return { period: 'Month' }
  const [, count, unit] = /^([0-9]{1,9})([smhdw])$/.exec(String(value)) ?? []
  const seconds = unit === undefined ? 0 : Number(count) * SECONDS[unit as keyof typeof SECONDS]
  const period = PERIODS.get(seconds)
  if (period !== undefined) return { period }
  if (seconds >= 60 && seconds <= 366 * SECONDS.d) return { rolling: `${seconds}s` }
  draft.note(file, path, 'is no time from a minute to a year: the budget is one for all times')
  return { period: 'Total' }
}
